#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <algorithm>

// Numbers that stand for others by a scale and a zero point, of u8. Products are exact: in f64
// those of u8 are, up to sums of 2^37 of them.
namespace aorta::onnx {
namespace {

// What follows an axis, or stands for blocks along it, in a shape that broadcasts with x.
Tensor along(const char* op, const Tensor& numbers, const Tensor& x, int64_t given, int64_t block) {
  if (numbers.numel() == 1 && block == 0) return numbers.reshape({});
  const int axis = wrap_dim(op, given, x.dim());
  if (block > 0) {
    check(numbers.dim() == x.dim(), op, "a scale of blocks must have the input's dimensions",
          numbers.shape(), " for ", x.shape());
    const int64_t size = x.size(axis);
    check(block <= std::max<int64_t>(size, 1) && numbers.size(axis) * block >= size, op,
          "blocks must cover the input", numbers.shape(), " of ", block, " for ", x.shape());
    return repeat_interleave(numbers, block, axis).narrow(axis, 0, size);
  }
  check(numbers.dim() == 1, op, "a scale must be a number, or one for each place of an axis",
        numbers.shape());
  Shape shape = Dims::filled(x.dim(), 1);
  shape[axis] = numbers.numel();
  return numbers.reshape(shape);
}

void check_u8(const char* op, const Tensor& x) {
  check(x.dtype() == u8, op, "quantised numbers must be u8", x.dtype());
}

Tensor saturated(const Tensor& x) { return clamp(x, 0, 255).to(u8); }

struct Layout {
  int64_t axis, block;
  explicit Layout(const Node& node)
      : axis(node.integer("axis", 1)), block(node.integer("block_size", 0)) {
    node.check(block >= 0, "attribute block_size must not be negative", block);
  }
};

Run quantize(const Node& node) {
  const Layout layout(node);
  node.integer("saturate", 1);  // of dtypes of 8 bits with a point
  const std::optional<DType> precision = node.has("precision") && node.integer("precision", 0) == 0
                                             ? std::nullopt
                                             : node.dtype("precision");
  const bool named = node.has("output_dtype") && node.integer("output_dtype", 0) != 0;
  node.check(!named || node.dtype("output_dtype") == u8, "attribute output_dtype must be uint8",
             named ? to_string(*node.dtype("output_dtype")) : "");
  return [=](const Inputs& x) -> Tensors {
    if (x.has(2)) check_u8("QuantizeLinear", x[2]);
    const DType dtype = precision.value_or(x[1].dtype());
    const Tensor scale = along("QuantizeLinear", x[1], x[0], layout.axis, layout.block);
    const Tensor y = round(div(x[0].to(dtype), scale.to(dtype))).to(f64);
    if (!x.has(2)) return {saturated(y)};
    return {
        saturated(add(y, along("QuantizeLinear", x[2], x[0], layout.axis, layout.block).to(f64)))};
  };
}

Run dequantize(const Node& node) {
  const Layout layout(node);
  const std::optional<DType> dtype =
      node.has("output_dtype") && node.integer("output_dtype", 0) == 0 ? std::nullopt
                                                                       : node.dtype("output_dtype");
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dtype() == u8 || x[0].dtype() == i32, "DequantizeLinear", "input must be u8 or i32",
          x[0].dtype());
    Tensor y = x[0].to(i64);
    if (x.has(2))
      y = sub(y, along("DequantizeLinear", x[2], x[0], layout.axis, layout.block).to(i64));
    const Tensor scale = along("DequantizeLinear", x[1], x[0], layout.axis, layout.block);
    return {mul(y.to(scale.dtype()), scale).to(dtype.value_or(scale.dtype()))};
  };
}

// The range of x, with 0 in it, in 256 steps.
Tensors quantize_dynamically(const Inputs& x) {
  const Tensor low = clamp(amin(x[0]), {}, 0.0), high = clamp(amax(x[0]), 0.0, {});
  const Tensor range = div(sub(high, low), 255);
  const Tensor scale = where(eq(range, 0), 1.0, range);
  const Tensor zero = clamp(round(neg(div(low, scale))), 0, 255);
  return {saturated(add(round(div(x[0], scale)), zero)), scale, zero.to(u8)};
}

// Exact, without its zero point; that of rows or columns stands in a list.
Tensor centred(const char* op, const Tensor& x, const Tensor& zero, bool by_rows) {
  check_u8(op, x);
  if (!zero.defined()) return x.to(f64);
  check_u8(op, zero);
  const Tensor places = zero.dim() == 1 && by_rows && zero.numel() > 1 ? zero.unsqueeze(-1) : zero;
  return sub(x.to(f64), places.numel() == 1 ? places.reshape({}).to(f64) : places.to(f64));
}

Tensors product(const Inputs& x) {
  const Tensor a = centred("MatMulInteger", x[0], x.or_none(2), true);
  const Tensor b = centred("MatMulInteger", x[1], x.or_none(3), false);
  return {matmul(a, b).to(i64).to(i32)};
}

// A scale of rows or columns, or a number.
Tensor scale_of(const Tensor& scale, bool by_rows) {
  if (scale.numel() == 1) return scale.reshape({}).to(f64);
  return (scale.dim() == 1 && by_rows ? scale.unsqueeze(-1) : scale).to(f64);
}

Tensors quantized_product(const Inputs& x) {
  check_u8("QLinearMatMul", x[7]);
  const Tensor a = centred("QLinearMatMul", x[0], x[2], true);
  const Tensor b = centred("QLinearMatMul", x[3], x[5], false);
  const Tensor scaled = mul(mul(matmul(a, b), scale_of(x[1], true)), scale_of(x[4], false));
  return {saturated(add(round(div(scaled, scale_of(x[6], true))), scale_of(x[7], true)))};
}

// Numbers of output channels, as the first dimension of a weight or the second of a result.
Tensor of_channels(const Tensor& numbers, int ndim, int dim) {
  if (numbers.numel() == 1) return numbers.reshape({}).to(f64);
  Shape shape = Dims::filled(ndim, 1);
  shape[dim] = numbers.numel();
  return numbers.reshape(shape).to(f64);
}

Tensor convolved(const char* op, const Run& convolve, const Inputs& x, const Tensor& w,
                 const Tensor& x_zero, const Tensor& w_zero) {
  check_u8(op, w);
  if (w_zero.defined()) check_u8(op, w_zero);
  const Tensor weight =
      w_zero.defined() ? sub(w.to(f64), of_channels(w_zero, w.dim(), 0)) : w.to(f64);
  return convolve(Inputs({centred(op, x[0], x_zero, false), weight}, false))[0].tensor;
}

Run integer_convolution(const Node& node) {
  return [convolve = convolution(node)](const Inputs& x) -> Tensors {
    return {
        convolved("ConvInteger", convolve, x, x[1], x.or_none(2), x.or_none(3)).to(i64).to(i32)};
  };
}

Run quantized_convolution(const Node& node) {
  return [convolve = convolution(node)](const Inputs& x) -> Tensors {
    check_u8("QLinearConv", x[7]);
    Tensor y = convolved("QLinearConv", convolve, x, x[3], x[2], x[5]);
    if (x.has(8)) y = add(y, of_channels(x[8], y.dim(), 1));
    const Tensor scale =
        div(mul(x[1].to(f64).reshape({}), of_channels(x[4], y.dim(), 1)), x[6].to(f64).reshape({}));
    return {saturated(add(round(mul(y, scale)), x[7].to(f64).reshape({})))};
  };
}

template <Tensors (*f)(const Inputs&)>
Run quantized(const Node&) {
  return f;
}

}  // namespace

void add_quantized(Operators& table) {
  table["ConvInteger"] = {integer_convolution, 2, 4};
  table["DequantizeLinear"] = {dequantize, 2, 3, 1, {1}};
  table["DynamicQuantizeLinear"] = {quantized<quantize_dynamically>, 1, 1, 3};
  table["MatMulInteger"] = {quantized<product>, 2, 4};
  table["QLinearConv"] = {quantized_convolution, 8, 9, 1, {1, 4, 6}};
  table["QLinearMatMul"] = {quantized<quantized_product>, 8, 8, 1, {1, 4, 6}};
  table["QuantizeLinear"] = {quantize, 2, 3, 1, {1}};
}

}  // namespace aorta::onnx
