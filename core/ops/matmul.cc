#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <algorithm>

namespace aorta::kernel {

constinit Op<MatmulKernel, MatmulGradient> matmul_op{"matmul"};
constinit Op<MatmulKernel, AddmmGradient> addmm_op{"addmm"};
constinit Op<MatmulKernel, LinearGradient> linear_op{"linear"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  check(a.device() == b.device(), op, "the operands must be on one device", a.device(), " and ",
        b.device());
  check(a.dtype() == b.dtype(), op, "the operands must have one dtype", a.dtype(), " and ",
        b.dtype());
  check(a.dtype() != boolean, op, "bool has no matrix product", a.dtype());
}

void check_dim(const char* op, const char* rule, const Tensor& tensor, int dim) {
  check(tensor.dim() == dim, op, rule, tensor.shape());
}

void check_inner(const char* op, const Tensor& a, const Tensor& b, int64_t a_size, int64_t b_size) {
  check(a_size == b_size, op, "the inner sizes must match", a.shape(), " and ", b.shape());
}

Shape leading(const Shape& shape, int drop) {
  Shape result = shape;
  result.resize(shape.size() - drop);
  return result;
}

Shape with_matrix(Shape shape, int64_t rows, int64_t columns) {
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

// Arguments for (*B, m, k) and (*B, k, n); the output isn't there yet.
MatmulArgs arguments(const Tensor& a, const Tensor& b) {
  MatmulArgs args;
  args.dtype = a.dtype();
  args.device = a.device();
  args.batch_shape = leading(a.shape(), 2);
  args.a_batch = leading(a.strides(), 2);
  args.b_batch = leading(b.strides(), 2);
  args.m = a.size(-2);
  args.k = a.size(-1);
  args.n = b.size(-1);
  args.a = a.data();
  args.b = b.data();
  args.a_row = a.stride(-2);
  args.a_column = a.stride(-1);
  args.b_row = b.stride(-2);
  args.b_column = b.stride(-1);
  return args;
}

Tensor run(MatmulKernel kernel, MatmulArgs& args, const Shape& shape) {
  Tensor output = empty(shape, {.dtype = args.dtype, .device = args.device});
  args.c = output.data();
  if (output.numel() > 0) kernel(args);
  return output;
}

// (*B, m, k) (*B, k, n): the row itself.
Tensor product(const Tensor& a, const Tensor& b) {
  if (a.is_complex()) [[unlikely]] {
    const Tensor re = real(a), im = imag(a), other_re = real(b), other_im = imag(b);
    return complex(product(re, other_re) - product(im, other_im),
                   product(re, other_im) + product(im, other_re));
  }
  const CalledOp called("matmul");
  const ProfilerRange range("matmul", {&a, &b});
  MatmulArgs args = arguments(a, b);
  Tensor output =
      run(matmul_op.kernel(a.device()), args, with_matrix(args.batch_shape, args.m, args.n));
  range.count(output.numel() * args.k);
  if (is_floating(a.dtype()) && needs_gradient(a, b)) matmul_op.gradient()(output, a, b);
  tell_tracer(matmul_op.name(), {&output}, {&a, &b});
  return output;
}

// The stride of the rows (all dimensions but the last) where they count through memory like one
// dimension.
std::optional<int64_t> stride_of_rows(const Tensor& x) {
  int64_t rows = 1, stride = 0;
  for (int i = x.dim() - 2; i >= 0; --i) {
    if (x.shape()[i] == 1) continue;
    if (rows == 1) stride = x.strides()[i];
    if (x.strides()[i] != rows * stride) return std::nullopt;
    rows *= x.shape()[i];
  }
  return stride;
}

// (*A, m, k) (*B, k, n), the inner sizes checked.
Tensor batched_product(const Tensor& a, const Tensor& b) {
  if (a.dim() == 2 && b.dim() == 2) return product(a, b);
  // One matrix on the right: the rows of all matrices on the left make one product, unless that
  // takes a copy (which the gradient of `b` is worth).
  if (b.dim() == 2 && (stride_of_rows(a) || needs_gradient(b))) {
    const int64_t rows = leading(a.shape(), 1).numel();
    return product(a.reshape({rows, a.size(-1)}), b)
        .view(with_matrix(leading(a.shape(), 2), a.size(-2), b.size(-1)));
  }
  const Shape batch = broadcast_shapes("matmul", leading(a.shape(), 2), leading(b.shape(), 2));
  return product(a.expand(with_matrix(batch, a.size(-2), a.size(-1))),
                 b.expand(with_matrix(batch, b.size(-2), b.size(-1))));
}

// x * factor; 0, and its gradient too, where the factor is 0, whatever x is.
Tensor times(const Tensor& x, const Scalar& factor) {
  return factor.to_bool() ? x * factor : where(full({}, false, {.device = x.device()}), x, 0);
}

Tensor add_product(const char* op, const Tensor& input, const Tensor& a, const Tensor& b,
                   const AddmmOptions& options) {
  check(input.device() == a.device(), op, "the operands must be on one device", input.device(),
        " and ", a.device());
  check(input.dtype() == a.dtype(), op, "the operands must have one dtype", input.dtype(), " and ",
        a.dtype());
  if (a.is_complex()) [[unlikely]] {
    const Tensor scaled = times(product(a, b), options.alpha);
    check(broadcast_shapes(op, input.shape(), scaled.shape()) == scaled.shape(), op,
          "the input must broadcast to the product", input.shape(), " for ", scaled.shape());
    return scaled + times(input, options.beta);
  }
  check(is_floating(a.dtype()) || !(options.beta.is_floating() || options.alpha.is_floating()), op,
        "integer operands take integer beta and alpha", options.beta, " and ", options.alpha);
  for (const Scalar& factor : {options.beta, options.alpha}) {
    check_fits(op, factor, a.dtype());
  }
  const CalledOp called(op);
  const ProfilerRange range(op, {&input, &a, &b});
  MatmulArgs args = arguments(a, b);
  const Shape shape = with_matrix(args.batch_shape, args.m, args.n);
  check(broadcast_shapes(op, input.shape(), shape) == shape, op,
        "the input must broadcast to the product", input.shape(), " for ", shape);
  const Tensor expanded = input.expand(shape);
  args.alpha = options.alpha;
  args.beta = options.beta;
  if (options.beta.to_double() != 0) {
    args.input = expanded.data();
    args.input_batch = leading(expanded.strides(), 2);
    args.input_row = expanded.stride(-2);
    args.input_column = expanded.stride(-1);
  }
  if (options.alpha.to_double() == 0) args.k = 0;
  Tensor output = run(addmm_op.kernel(a.device()), args, shape);
  range.count(output.numel() * args.k);
  if (is_floating(a.dtype()) && needs_gradient(expanded, a, b))
    addmm_op.gradient()(output, expanded, a, b, options);
  tell_tracer(addmm_op.name(), {&output}, {&input, &a, &b}, options);
  return output;
}

}  // namespace

Tensor matmul(const Tensor& input, const Tensor& other) {
  const CalledOp called("matmul");
  check_defined("matmul", {{"input", input}, {"other", other}});
  if (autocast_changes({&input, &other}))
    return matmul(autocast_to_half(input), autocast_to_half(other));
  check(input.dim() > 0 && other.dim() > 0, "matmul", "both operands need at least 1 dimension",
        input.shape(), " and ", other.shape());
  check_operands("matmul", input, other);
  check_inner("matmul", input, other, input.size(-1), other.size(other.dim() == 1 ? 0 : -2));
  const Tensor a = input.dim() == 1 ? input.unsqueeze(0) : input;
  const Tensor b = other.dim() == 1 ? other.unsqueeze(1) : other;
  const Tensor output = batched_product(a, b);
  if (input.dim() > 1 && other.dim() > 1) {
    tell_tracer(matmul_op.name(), {&output}, {&input, &other});
    return output;
  }
  Shape shape = leading(output.shape(), 2);
  if (input.dim() > 1) shape.push_back(output.size(-2));
  if (other.dim() > 1) shape.push_back(output.size(-1));
  return output.view(shape);
}

Tensor mm(const Tensor& input, const Tensor& mat2) {
  const CalledOp called("mm");
  check_defined("mm", {{"input", input}, {"mat2", mat2}});
  if (autocast_changes({&input, &mat2})) return mm(autocast_to_half(input), autocast_to_half(mat2));
  check_dim("mm", "input must have 2 dimensions", input, 2);
  check_dim("mm", "mat2 must have 2 dimensions", mat2, 2);
  check_operands("mm", input, mat2);
  check_inner("mm", input, mat2, input.size(1), mat2.size(0));
  return product(input, mat2);
}

Tensor bmm(const Tensor& input, const Tensor& mat2) {
  const CalledOp called("bmm");
  check_defined("bmm", {{"input", input}, {"mat2", mat2}});
  if (autocast_changes({&input, &mat2}))
    return bmm(autocast_to_half(input), autocast_to_half(mat2));
  check_dim("bmm", "input must have 3 dimensions", input, 3);
  check_dim("bmm", "mat2 must have 3 dimensions", mat2, 3);
  check_operands("bmm", input, mat2);
  check(input.size(0) == mat2.size(0), "bmm", "the batch sizes must match", input.shape(), " and ",
        mat2.shape());
  check_inner("bmm", input, mat2, input.size(2), mat2.size(1));
  return product(input, mat2);
}

Tensor mv(const Tensor& input, const Tensor& vec) {
  const CalledOp called("mv");
  check_defined("mv", {{"input", input}, {"vec", vec}});
  if (autocast_changes({&input, &vec})) return mv(autocast_to_half(input), autocast_to_half(vec));
  check_dim("mv", "input must have 2 dimensions", input, 2);
  check_dim("mv", "vec must have 1 dimension", vec, 1);
  check_operands("mv", input, vec);
  check_inner("mv", input, vec, input.size(1), vec.size(0));
  return product(input, vec.unsqueeze(1)).view({input.size(0)});
}

Tensor dot(const Tensor& input, const Tensor& other) {
  const CalledOp called("dot");
  check_defined("dot", {{"input", input}, {"other", other}});
  if (autocast_changes({&input, &other}))
    return dot(autocast_to_half(input), autocast_to_half(other));
  check_dim("dot", "input must have 1 dimension", input, 1);
  check_dim("dot", "other must have 1 dimension", other, 1);
  check_operands("dot", input, other);
  check_inner("dot", input, other, input.size(0), other.size(0));
  return product(input.unsqueeze(0), other.unsqueeze(1)).view({});
}

Tensor outer(const Tensor& input, const Tensor& vec2) {
  const CalledOp called("outer");
  check_defined("outer", {{"input", input}, {"vec2", vec2}});
  check_dim("outer", "input must have 1 dimension", input, 1);
  check_dim("outer", "vec2 must have 1 dimension", vec2, 1);
  return mul(input.unsqueeze(1), vec2);
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
             const AddmmOptions& options) {
  const CalledOp called("addmm");
  check_defined("addmm", {{"input", input}, {"mat1", mat1}, {"mat2", mat2}});
  if (autocast_changes({&input, &mat1, &mat2}))
    return addmm(autocast_to_half(input), autocast_to_half(mat1), autocast_to_half(mat2), options);
  check_dim("addmm", "mat1 must have 2 dimensions", mat1, 2);
  check_dim("addmm", "mat2 must have 2 dimensions", mat2, 2);
  check_operands("addmm", mat1, mat2);
  check_inner("addmm", mat1, mat2, mat1.size(1), mat2.size(0));
  return add_product("addmm", input, mat1, mat2, options);
}

Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2,
               const AddmmOptions& options) {
  const CalledOp called("baddbmm");
  check_defined("baddbmm", {{"input", input}, {"batch1", batch1}, {"batch2", batch2}});
  if (autocast_changes({&input, &batch1, &batch2}))
    return baddbmm(autocast_to_half(input), autocast_to_half(batch1), autocast_to_half(batch2),
                   options);
  check_dim("baddbmm", "batch1 must have 3 dimensions", batch1, 3);
  check_dim("baddbmm", "batch2 must have 3 dimensions", batch2, 3);
  check_operands("baddbmm", batch1, batch2);
  check(batch1.size(0) == batch2.size(0), "baddbmm", "the batch sizes must match", batch1.shape(),
        " and ", batch2.shape());
  check_inner("baddbmm", batch1, batch2, batch1.size(2), batch2.size(1));
  return add_product("baddbmm", input, batch1, batch2, options);
}

Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2,
              const AddmmOptions& options) {
  const CalledOp called("addbmm");
  check_defined("addbmm", {{"input", input}, {"batch1", batch1}, {"batch2", batch2}});
  check_dim("addbmm", "batch1 must have 3 dimensions", batch1, 3);
  check_dim("addbmm", "batch2 must have 3 dimensions", batch2, 3);
  check(batch1.size(0) == batch2.size(0), "addbmm", "the batch sizes must match", batch1.shape(),
        " and ", batch2.shape());
  check_inner("addbmm", batch1, batch2, batch1.size(2), batch2.size(1));
  // The sum over the batch is one over its size times k products.
  const int64_t length = checked_numel("addbmm", {batch1.size(0), batch1.size(2)}, 1);
  return addmm(input, batch1.transpose(0, 1).reshape({batch1.size(1), length}),
               batch2.reshape({length, batch2.size(2)}), options);
}

Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec,
             const AddmmOptions& options) {
  const CalledOp called("addmv");
  check_defined("addmv", {{"input", input}, {"mat", mat}, {"vec", vec}});
  check_dim("addmv", "mat must have 2 dimensions", mat, 2);
  check_dim("addmv", "vec must have 1 dimension", vec, 1);
  check_inner("addmv", mat, vec, mat.size(1), vec.size(0));
  check(input.dim() <= 1, "addmv", "input must have at most 1 dimension", input.shape());
  return addmm(input.unsqueeze(-1), mat, vec.unsqueeze(1), options).squeeze(1);
}

Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2,
            const AddmmOptions& options) {
  const CalledOp called("addr");
  check_defined("addr", {{"input", input}, {"vec1", vec1}, {"vec2", vec2}});
  check_dim("addr", "vec1 must have 1 dimension", vec1, 1);
  check_dim("addr", "vec2 must have 1 dimension", vec2, 1);
  const Operand operands[] = {input, vec1, vec2};
  const DType dtype = result_type(operands);
  return addmm(input.to(dtype), vec1.to(dtype).unsqueeze(1), vec2.to(dtype).unsqueeze(0), options);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const CalledOp called("linear");
  check_defined("linear", {{"input", input}, {"weight", weight}});
  if (autocast_changes({&input, &weight, &bias}))
    return linear(autocast_to_half(input), autocast_to_half(weight), autocast_to_half(bias));
  check(input.dim() >= 1, "linear", "input must have at least 1 dimension", input.shape());
  check(weight.dim() == 1 || weight.dim() == 2, "linear", "weight must have 1 or 2 dimensions",
        weight.shape());
  check_operands("linear", input, weight);
  check_inner("linear", input, weight, input.size(-1), weight.size(-1));
  if (weight.dim() == 1) {
    if (bias.defined()) check_dim("linear", "bias of a 1-d weight must have 0 dimensions", bias, 0);
    const Tensor output = matmul(input, weight);
    return bias.defined() ? add(output, bias) : output;
  }
  if (input.is_complex()) [[unlikely]] {
    if (bias.defined()) check_operands("linear", weight, bias);
    const Tensor output = matmul(input, weight.t());
    return bias.defined() ? add(output, bias) : output;
  }
  const ProfilerRange range("linear", {&input, &weight, &bias});
  const int64_t columns = weight.size(0);
  MatmulArgs args;
  args.dtype = input.dtype();
  args.device = input.device();
  args.k = input.size(-1);
  args.n = columns;
  args.a = input.data();
  args.a_column = input.stride(-1);
  args.b = weight.data();
  args.b_row = weight.stride(1);
  args.b_column = weight.stride(0);
  const Shape rows = leading(input.shape(), 1);
  const int last = rows.size() - 1;
  if (const auto stride = stride_of_rows(input)) {
    args.m = rows.numel();
    args.a_row = *stride;
  } else {
    args.m = rows[last];
    args.a_row = input.strides()[last];
    args.batch_shape = leading(rows, 1);
    args.a_batch = leading(input.strides(), 2);
    args.b_batch = args.input_batch = Dims::filled(last, 0);
  }
  if (bias.defined()) {
    check(bias.dim() == 1 && bias.size(0) == columns, "linear", "bias must be (out)", bias.shape(),
          " for weight ", weight.shape());
    check_operands("linear", weight, bias);
    args.input = bias.data();
    args.input_column = bias.stride(0);
  }
  Shape shape = rows;
  shape.push_back(columns);
  Tensor output = run(linear_op.kernel(input.device()), args, shape);
  range.count(output.numel() * args.k);
  if (is_floating(input.dtype()) && needs_gradient(input, weight, bias))
    linear_op.gradient()(output, input, weight, bias);
  tell_tracer(linear_op.name(), {&output}, {&input, &weight, &bias});
  return output;
}

namespace {

// `x` with `dims` moved behind the others (or before them) and both groups merged.
Tensor as_matrix(const Tensor& x, const Dims& dims, bool behind, Shape& others) {
  bool taken[kMaxDims] = {};
  for (const int64_t d : dims) taken[d] = true;
  Dims order;
  int64_t rest = 1, merged = 1;
  for (int d = 0; d < x.dim(); ++d) {
    if (taken[d]) continue;
    order.push_back(d);
    others.push_back(x.shape()[d]);
    rest *= x.shape()[d];
  }
  for (int i = 0; i < dims.size(); ++i) {
    order.insert(behind ? order.size() : i, dims[i]);
    merged *= x.shape()[static_cast<int>(dims[i])];
  }
  const Tensor moved = x.permute(order);
  return behind ? moved.reshape({rest, merged}) : moved.reshape({merged, rest});
}

Dims paired_dims(const Dims& dims, const Tensor& x) {
  check(x.dim() > 0 || dims.size() == 0, "tensordot", "a number has no dimension", dims);
  return wrap_dims("tensordot", dims, x.dim());
}

}  // namespace

Tensor tensordot(const Tensor& input, const Tensor& other, const Dims& input_dims,
                 const Dims& other_dims) {
  const CalledOp called("tensordot");
  check_defined("tensordot", {{"input", input}, {"other", other}});
  if (autocast_changes({&input, &other}))
    return tensordot(autocast_to_half(input), autocast_to_half(other), input_dims, other_dims);
  check_operands("tensordot", input, other);
  check(input_dims.size() == other_dims.size(), "tensordot", "as many dimensions of both operands",
        input_dims, " and ", other_dims);
  const Dims a_dims = paired_dims(input_dims, input), b_dims = paired_dims(other_dims, other);
  for (int i = 0; i < a_dims.size(); ++i) {
    check(input.size(a_dims[i]) == other.size(b_dims[i]), "tensordot",
          "the sizes of paired dimensions must match", input.shape(), " and ", other.shape(),
          " paired by ", input_dims, " and ", other_dims);
  }
  Shape shape, other_shape;
  const Tensor a = as_matrix(input, a_dims, true, shape);
  const Tensor b = as_matrix(other, b_dims, false, other_shape);
  check(shape.size() + other_shape.size() <= kMaxDims, "tensordot",
        "the result can have 12 dimensions at most", shape, " and ", other_shape);
  for (const int64_t size : other_shape) shape.push_back(size);
  return product(a, b).view(shape);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  const CalledOp called("bilinear");
  check_defined("bilinear", {{"input1", input1}, {"input2", input2}, {"weight", weight}});
  check_dim("bilinear", "weight must have 3 dimensions", weight, 3);
  check(input1.dim() >= 1 && input1.dim() == input2.dim(), "bilinear",
        "inputs must have as many dimensions", input1.shape(), " and ", input2.shape());
  Shape batch = input1.shape(), other_batch = input2.shape();
  const int64_t m = batch.back(), n = other_batch.back(), out = weight.size(0);
  batch.erase(input1.dim() - 1);
  other_batch.erase(input2.dim() - 1);
  check(batch == other_batch, "bilinear", "inputs must agree but in the last dimension",
        input1.shape(), " and ", input2.shape());
  check(m == weight.size(1) && n == weight.size(2), "bilinear",
        "last dimensions must be the weight's", m, " and ", n, " for ", weight.shape());
  check(!bias.defined() || bias.shape() == Shape{out}, "bilinear", "bias must be (out)",
        bias.defined() ? bias.shape() : Shape(), " for ", weight.shape());
  check_operands("bilinear", input1, weight);
  check_operands("bilinear", input2, weight);
  // Half types are rounded once, at the end.
  const Autocast no_products_of_halves(DType::f32);
  const DType dtype = input1.dtype(), wide = is_half(dtype) ? DType::f32 : dtype;
  const int64_t rows = batch.numel();
  const Tensor mixed = matmul(input1.to(wide).reshape({rows, m}),
                              weight.to(wide).permute({1, 0, 2}).reshape({m, out * n}));
  const Tensor columns = input2.to(wide).reshape({rows, n, 1});
  const Tensor output = matmul(mixed.view({rows, out, n}), columns).view({rows, out});
  batch.push_back(out);
  return (bias.defined() ? output + bias.to(wide) : output).to(dtype).view(batch);
}

Tensor tensordot(const Tensor& input, const Tensor& other, int64_t dims) {
  const CalledOp called("tensordot");
  check_defined("tensordot", {{"input", input}, {"other", other}});
  check(dims >= 0 && dims <= input.dim() && dims <= other.dim(), "tensordot",
        "dims must be between 0 and the operands' dimensions", dims, " for shapes ", input.shape(),
        " and ", other.shape());
  Dims input_dims, other_dims;
  for (int64_t i = 0; i < dims; ++i) {
    input_dims.push_back(input.dim() - dims + i);
    other_dims.push_back(i);
  }
  return tensordot(input, other, input_dims, other_dims);
}

Tensor inner(const Tensor& input, const Tensor& other) {
  const CalledOp called("inner");
  check_defined("inner", {{"input", input}, {"other", other}});
  if (input.dim() == 0 || other.dim() == 0) return mul(input, other);
  return tensordot(input, other, {-1}, {-1});
}

Tensor kron(const Tensor& input, const Tensor& other) {
  check_defined("kron", {{"input", input}, {"other", other}});
  const CalledOp called("kron");
  const int ndim = std::max(input.dim(), other.dim());
  check(2 * ndim <= kMaxDims, "kron", "the operands can have 6 dimensions at most", input.shape(),
        " and ", other.shape());
  // (a_0, 1, a_1, 1, ...) by (1, b_0, 1, b_1, ...).
  Shape blocks, elements, shape;
  for (int i = 0; i < ndim; ++i) {
    const int in = i - (ndim - input.dim()), of = i - (ndim - other.dim());
    const int64_t a = in < 0 ? 1 : input.shape()[in], b = of < 0 ? 1 : other.shape()[of];
    for (const int64_t size : {a, int64_t{1}}) blocks.push_back(size);
    for (const int64_t size : {int64_t{1}, b}) elements.push_back(size);
    int64_t size = 0;
    check(!__builtin_mul_overflow(a, b, &size), "kron", "sizes must fit 64 bits", input.shape(),
          " and ", other.shape());
    shape.push_back(size);
  }
  return mul(input.reshape(blocks), other.reshape(elements)).reshape(shape);
}

Tensor trace(const Tensor& input) {
  check_defined("trace", {{"input", input}});
  const CalledOp called("trace");
  check(input.dim() == 2, "trace", "input must be a matrix", input.shape());
  return sum(diagonal(input));
}

}  // namespace aorta
