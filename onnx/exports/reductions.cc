#include <aorta/core/ops/creation.h>
#include <aorta/core/reduce_dims.h>
#include <aorta/onnx/export_call.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

// Reductions, softmax and sums along a dimension.
namespace aorta::onnx {
namespace {

std::string reduce(const ExportCall& call, const char* op_type, const std::string& value,
                   const Dims& dims, bool keepdim) {
  if (dims.empty()) return value;  // of a tensor without dimensions
  return call.node(op_type, {value, call.integers(list_of(dims))},
                   {attribute("keepdims", keepdim)});
}

// In the dtype of the result, which that of integers' sums is.
Names plain(const ExportCall& call, const char* op_type) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  return {reduce(call, op_type, call.cast(call[0], call.input(0).dtype(), call.output().dtype()),
                 dims, keepdim)};
}
Names sum(const ExportCall& call) { return plain(call, "ReduceSum"); }
Names mean(const ExportCall& call) { return plain(call, "ReduceMean"); }
Names prod(const ExportCall& call) { return plain(call, "ReduceProd"); }
Names amax(const ExportCall& call) { return plain(call, "ReduceMax"); }
Names amin(const ExportCall& call) { return plain(call, "ReduceMin"); }
Names logsumexp(const ExportCall& call) { return plain(call, "ReduceLogSumExp"); }

// ---- Places.

std::string place(const ExportCall& call, const char* op_type, const Dims& dims, bool keepdim,
                  const Shape& shape) {
  if (dims.size() == 1)
    return call.node(op_type, {call[0]},
                     {attribute("axis", dims[0]), attribute("keepdims", keepdim)});
  const std::string flat = call.reshaped(call[0], {-1});
  const std::string found =
      call.node(op_type, {flat}, {attribute("axis", 0), attribute("keepdims", false)});
  return keepdim ? call.reshaped(found, shape) : found;
}
Names argmax(const ExportCall& call) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  return {place(call, "ArgMax", dims, keepdim, call.output().shape())};
}
Names argmin(const ExportCall& call) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  return {place(call, "ArgMin", dims, keepdim, call.output().shape())};
}
Names max(const ExportCall& call) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  return {reduce(call, "ReduceMax", call[0], dims, keepdim),
          place(call, "ArgMax", dims, keepdim, call.output(1).shape())};
}
Names min(const ExportCall& call) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  return {reduce(call, "ReduceMin", call[0], dims, keepdim),
          place(call, "ArgMin", dims, keepdim, call.output(1).shape())};
}

// ---- Truth.

Names truth(const ExportCall& call, const char* op_type) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  const std::string is_true = call.cast(call[0], call.input(0).dtype(), DType::boolean);
  const std::string value =
      reduce(call, op_type, call.cast(is_true, DType::boolean, DType::i32), dims, keepdim);
  return {call.cast(value, DType::i32, call.output().dtype())};
}
Names any(const ExportCall& call) { return truth(call, "ReduceMax"); }
Names all(const ExportCall& call) { return truth(call, "ReduceMin"); }
Names count_nonzero(const ExportCall& call) {
  const auto& [dims, keepdim] = call.options<Dims, bool>();
  const std::string is_true = call.cast(call[0], call.input(0).dtype(), DType::boolean);
  return {reduce(call, "ReduceSum", call.cast(is_true, DType::boolean, DType::i64), dims, keepdim)};
}

// ---- Moments.

struct Moments {
  std::string mean, var;
};
Moments moments(const ExportCall& call, const Dims& dims, double correction, bool keepdim) {
  const std::string x = call.computed(0);
  double count = 1;
  for (const int64_t d : dims) count *= static_cast<double>(call.input(0).size(d));
  const std::string mean = reduce(call, "ReduceMean", x, dims, true);
  const std::string apart = call.node("Sub", {x, mean});
  std::string var = reduce(call, "ReduceMean", call.node("Mul", {apart, apart}), dims, keepdim);
  if (correction != 0) {
    const double factor = count / std::max(count - correction, 0.0);
    var = call.node("Mul", {var, call.number(factor, call.computed_dtype())});
  }
  return {keepdim ? mean : reduce(call, "ReduceMean", x, dims, false), var};
}
Names var(const ExportCall& call) {
  const auto& [dims, correction, keepdim] = call.options<Dims, double, bool>();
  return {call.rounded(moments(call, dims, correction, keepdim).var)};
}
Names std(const ExportCall& call) {
  const auto& [dims, correction, keepdim] = call.options<Dims, double, bool>();
  return {call.rounded(call.node("Sqrt", {moments(call, dims, correction, keepdim).var}))};
}
Names var_mean(const ExportCall& call) {
  const auto& [dims, correction, keepdim] = call.options<Dims, double, bool>();
  const Moments both = moments(call, dims, correction, keepdim);
  return {call.rounded(both.var), call.rounded(both.mean)};
}

Names norm(const ExportCall& call) {
  const auto& [p, dims, keepdim] = call.options<double, Dims, bool>();
  const DType dtype = call.computed_dtype();
  const std::string x = call.computed(0), size = call.node("Abs", {x});
  const auto reduced = [&, &dims = dims, keepdim = keepdim](const char* op_type,
                                                            const std::string& value) {
    return reduce(call, op_type, value, dims, keepdim);
  };
  if (p == 1) return {call.rounded(reduced("ReduceL1", size))};
  if (p == 2) return {call.rounded(reduced("ReduceL2", size))};
  if (std::isinf(p)) return {call.rounded(reduced(p > 0 ? "ReduceMax" : "ReduceMin", size))};
  if (p == 0) {
    const std::string is_zero = call.node("Equal", {x, call.number(0, dtype)});
    const std::string counts = call.cast(call.node("Not", {is_zero}), DType::boolean, dtype);
    return {call.rounded(reduced("ReduceSum", counts))};
  }
  const std::string sum = reduced("ReduceSum", call.node("Pow", {size, call.number(p, dtype)}));
  return {call.rounded(call.node("Pow", {sum, call.number(1 / p, dtype)}))};
}

// The sums of x y, x x and y y along a dimension, in f64.
Names line_products(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  const DType dtype = call.output().dtype();
  const std::string x = call.cast(call[0], call.input(0).dtype(), dtype);
  const std::string y = call.cast(call[1], call.input(1).dtype(), dtype);
  Names sums;
  for (const Names& pair : {Names{x, y}, Names{x, x}, Names{y, y}}) {
    const std::string sum = reduce(call, "ReduceSum", call.node("Mul", pair), {dim}, false);
    sums.push_back(call.node("Unsqueeze", {sum, call.integers({0})}));
  }
  return {call.node("Concat", sums, {attribute("axis", 0)})};
}

// ---- Along a dimension.

Names softmax(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  if (call.input(0).dim() == 0) call.fail("input must have a dimension", "none");
  return {call.node("Softmax", {call[0]}, {attribute("axis", dim)})};
}
Names log_softmax(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  if (call.input(0).dim() == 0) call.fail("input must have a dimension", "none");
  return {call.node("LogSoftmax", {call[0]}, {attribute("axis", dim)})};
}
Names cumsum(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  return {call.node("CumSum", {call[0], call.integer(dim)})};
}
// What a running op is of: two parts of a line that follow each other, joined element by element,
// and what changes nothing when it is joined.
struct Running {
  std::string value;
  std::string neutral;
};
using JoinParts = std::string (*)(const ExportCall& call, const std::string& before,
                                  const std::string& here);

// ONNX has no running op but CumSum in the operator set of these files: with each step every
// element is joined with what stands twice as far before it as in the step before.
std::string run_along(const ExportCall& call, Running x, int dim, JoinParts join) {
  const Shape& shape = call.input(0).shape();
  if (shape.size() == 0) return x.value;
  call.fix(shape[dim]);
  for (int64_t step = 1; step < shape[dim]; step *= 2) {
    const std::string axis = call.integers({dim}), most = call.integers({shape[dim] - step});
    const std::string kept = call.node("Slice", {x.value, call.integers({0}), most, axis});
    std::vector<int64_t> pads(static_cast<size_t>(2 * shape.size()));
    pads[static_cast<size_t>(dim)] = step;
    const std::string before = call.node("Pad", {kept, call.integers(pads), x.neutral});
    x.value = join(call, before, x.value);
  }
  return x.value;
}

std::string product_of(const ExportCall& call, const std::string& a, const std::string& b) {
  return call.node("Mul", {a, b});
}
std::string larger_of(const ExportCall& call, const std::string& a, const std::string& b) {
  return call.node("Max", {a, b});
}
std::string smaller_of(const ExportCall& call, const std::string& a, const std::string& b) {
  return call.node("Min", {a, b});
}
std::string log_sum_of(const ExportCall& call, const std::string& a, const std::string& b) {
  return log_sum(call, a, b, call.output().dtype());
}

Names cumprod(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  return {run_along(call, {call[0], call.number(1, call.output().dtype())}, dim, product_of)};
}
Names logcumsumexp(const ExportCall& call) {
  const auto& [dim] = call.options<int>();
  const std::string nothing = call.number(-INFINITY, call.output().dtype());
  return {run_along(call, {call[0], nothing}, dim, log_sum_of)};
}

// The end of a dtype's numbers where no element is larger, or smaller with `highest`.
Scalar end_of(DType dtype, bool highest) {
  switch (dtype) {
    case DType::i64:
      return highest ? INT64_MAX : INT64_MIN;
    case DType::i32:
      return highest ? INT32_MAX : INT32_MIN;
    case DType::u8:
      return highest ? UINT8_MAX : 0;
    default:
      return highest ? INFINITY : -INFINITY;
  }
}
// The places are those of elements that are the extremum so far, or NaN, and the last of these.
Names running_extremum(const ExportCall& call, bool smallest) {
  const auto& [dim] = call.options<int>();
  const Tensor& input = call.input(0);
  const DType dtype = input.dtype();
  call.check(dtype != DType::boolean, "dtype must be a number", dtype);
  const std::string values = run_along(call, {call[0], call.number(end_of(dtype, smallest), dtype)},
                                       dim, smallest ? smaller_of : larger_of);
  Tensor places = arange(input.dim() > 0 ? input.size(dim) : 1);
  for (int i = dim + 1; i < input.dim(); ++i) places = places.unsqueeze(-1);
  std::string counts = call.node("Equal", {call[0], values});
  if (is_floating(dtype)) counts = call.node("Or", {counts, call.node("IsNaN", {call[0]})});
  const std::string first = call.number(int64_t{0}, DType::i64);
  const std::string at = call.node("Where", {counts, call.constant(places), first});
  return {values, run_along(call, {at, first}, dim, larger_of)};
}
Names cummax(const ExportCall& call) { return running_extremum(call, false); }
Names cummin(const ExportCall& call) { return running_extremum(call, true); }

Names sort(const ExportCall& call) {
  const auto& [dim, take, descending] = call.options<int, int64_t, bool>();
  return call.nodes("TopK", {call[0], call.integers({take})}, 2,
                    {attribute("axis", dim), attribute("largest", descending)});
}

}  // namespace

void add_reduction_exports(Exports& table) {
  table["sum"] = sum;
  table["mean"] = mean;
  table["prod"] = prod;
  table["amax"] = amax;
  table["amin"] = amin;
  table["max"] = max;
  table["min"] = min;
  table["argmax"] = argmax;
  table["argmin"] = argmin;
  table["any"] = any;
  table["all"] = all;
  table["count_nonzero"] = count_nonzero;
  table["var"] = var;
  table["std"] = std;
  table["var_mean"] = var_mean;
  table["norm"] = norm;
  table["logsumexp"] = logsumexp;
  table["line_products"] = line_products;
  table["softmax"] = softmax;
  table["log_softmax"] = log_softmax;
  table["cumsum"] = cumsum;
  table["cumprod"] = cumprod;
  table["logcumsumexp"] = logcumsumexp;
  table["cummax"] = cummax;
  table["cummin"] = cummin;
  table["sort"] = sort;
  table["topk"] = sort;
}

}  // namespace aorta::onnx
