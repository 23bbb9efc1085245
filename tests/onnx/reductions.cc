#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

constexpr double kSums = 1e-6;

// The axes of a reduction: the second input, or all of them.
Dims axes_of(const Case& c) {
  Dims axes;
  if (c.has(1)) {
    for (int64_t axis : c.inputs[1].to_vector<int64_t>()) axes.push_back(axis);
  } else {
    for (int i = 0; i < c.inputs[0].dim(); ++i) axes.push_back(i);
  }
  if (axes.empty() && !c.integer("noop_with_empty_axes", 0)) {
    for (int i = 0; i < c.inputs[0].dim(); ++i) axes.push_back(i);
  }
  return axes;
}

template <class F>
Operator reduction(const F& f, double relative = kSums) {
  return {[f](const Case& c) -> Tensors {
            return {f(c.inputs[0], axes_of(c), c.integer("keepdims", 1) != 0)};
          },
          relative};
}

// The last place of the extreme is the first of the reversed line.
Operator arg_extreme(Tensor (*f)(const Tensor&, std::optional<int64_t>, bool)) {
  return {[f](const Case& c) -> Tensors {
    const int64_t axis = c.integer("axis", 0);
    const bool keep = c.integer("keepdims", 1) != 0;
    const Tensor& x = c.inputs[0];
    if (!c.integer("select_last_index", 0)) return {f(x, axis, keep)};
    return {sub(x.size(axis) - 1, f(flip(x, {axis}), axis, keep))};
  }};
}

Tensor gemm(const Case& c) {
  const Tensor a = c.integer("transA", 0) ? c.inputs[0].t() : c.inputs[0];
  const Tensor b = c.integer("transB", 0) ? c.inputs[1].t() : c.inputs[1];
  const Tensor none = zeros({1, 1}, {.dtype = a.dtype()});
  return addmm(c.has(2) ? c.inputs[2] : none, a, b,
               {.beta = c.number("beta", 1), .alpha = c.number("alpha", 1)});
}

Tensor cumulative(const Case& c) {
  const Tensor& x = c.inputs[0];
  const int64_t axis = c.inputs[1].item<int64_t>();
  const bool reverse = c.integer("reverse", 0) != 0;
  const Tensor line = reverse ? flip(x, {axis}) : x;
  Tensor result = cumsum(line, axis, x.dtype());
  if (c.integer("exclusive", 0)) result = sub(result, line);
  return reverse ? flip(result, {axis}) : result;
}

Tensor lp_normalized(const Case& c) {
  const int64_t axis = c.integer("axis", -1);
  const Tensor length = norm(c.inputs[0], static_cast<double>(c.integer("p", 2)), axis, true);
  // A line of zeros stays one.
  return where(eq(length, 0), zeros_like(c.inputs[0]), div(c.inputs[0], length));
}

Tensors top_k(const Case& c) {
  const ValuesIndices r =
      topk(c.inputs[0], c.inputs[1].to_vector<int64_t>()[0], c.integer("axis", -1),
           c.integer("largest", 1) != 0, c.integer("sorted", 1) != 0);
  return {r.values, r.indices};
}

// values, place of the first occurrence, inverse, counts.
Tensors unique_of(const Case& c) {
  const bool by_axis = c.attributes.contains("axis");
  const int64_t axis = c.integer("axis", 0);
  const Unique u = by_axis ? unique_dim(c.inputs[0], axis, true, true, true)
                           : unique(c.inputs[0], true, true, true);
  const Tensor inverse = u.inverse.flatten();
  const int64_t n = inverse.numel();
  Tensor first =
      scatter_reduce(full({u.counts.numel()}, n), 0, inverse, arange(n), ScatterReduce::amin);
  Tensors result{u.values, first, inverse, u.counts};
  if (c.integer("sorted", 1)) return result;
  // In the order in which they come.
  const Tensor order = argsort(first), rank = argsort(order);
  return {index_select(u.values, by_axis ? axis : 0, order), index_select(first, 0, order),
          index_select(rank, 0, inverse), index_select(u.counts, 0, order)};
}

}  // namespace

void add_reductions(Operators& table) {
  const auto magnitude = [](double p) {
    return [p](const Tensor& x, const Dims& axes, bool keep) {
      return norm(x.to(f64), p, axes, keep).to(x.dtype());
    };
  };
  table["ReduceL1"] = reduction(magnitude(1));
  table["ReduceL2"] = reduction(magnitude(2));
  table["ReduceLogSum"] = reduction(
      [](const Tensor& x, const Dims& axes, bool keep) { return log(sum(x, axes, keep)); });
  table["ReduceLogSumExp"] = reduction(
      [](const Tensor& x, const Dims& axes, bool keep) { return logsumexp(x, axes, keep); });
  table["ReduceMax"] = reduction(
      [](const Tensor& x, const Dims& axes, bool keep) { return amax(x, axes, keep); }, 0);
  table["ReduceMin"] = reduction(
      [](const Tensor& x, const Dims& axes, bool keep) { return amin(x, axes, keep); }, 0);
  table["ReduceMean"] =
      reduction([](const Tensor& x, const Dims& axes, bool keep) { return mean(x, axes, keep); });
  table["ReduceSum"] =
      reduction([](const Tensor& x, const Dims& axes, bool keep) { return sum(x, axes, keep); });
  table["ReduceSumSquare"] = reduction(
      [](const Tensor& x, const Dims& axes, bool keep) { return sum(square(x), axes, keep); });
  table["ReduceProd"] =
      reduction([](const Tensor& x, const Dims& axes, bool keep) { return prod(x, axes, keep); });

  table["ArgMax"] = arg_extreme(argmax);
  table["ArgMin"] = arg_extreme(argmin);
  table["CumSum"] = {[](const Case& c) -> Tensors { return {cumulative(c)}; }};
  table["Softmax"] = {
      [](const Case& c) -> Tensors { return {softmax(c.inputs[0], c.integer("axis", -1))}; },
      kSums};
  table["LogSoftmax"] = {
      [](const Case& c) -> Tensors { return {log_softmax(c.inputs[0], c.integer("axis", -1))}; },
      kSums, 1e-6};
  table["Hardmax"] = {[](const Case& c) -> Tensors {
    const int64_t axis = c.integer("axis", -1);
    const Tensor best = argmax(c.inputs[0], axis, true);
    return {scatter(zeros_like(c.inputs[0]), axis, best, 1)};
  }};
  table["LpNormalization"] = {[](const Case& c) -> Tensors { return {lp_normalized(c)}; }, kSums};
  table["MatMul"] = {[](const Case& c) -> Tensors { return {matmul(c.inputs[0], c.inputs[1])}; },
                     kSums, 1e-6};
  table["Gemm"] = {[](const Case& c) -> Tensors { return {gemm(c)}; }, kSums, 1e-6};
  table["Einsum"] = {
      [](const Case& c) -> Tensors { return {einsum(c.text("equation", ""), c.inputs)}; }, kSums};
  table["TopK"] = {top_k};
  table["Unique"] = {unique_of};
}

}  // namespace aorta::onnx
