#include <aorta/core/ops/reduction.h>

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <cmath>
#include <limits>

namespace aorta::onnx {
namespace {

using Reduce = Tensor (*)(const Tensor& x, const Dims& axes, bool keep);

// Axes are an attribute in old operator sets and the second input in new ones; none are all.
template <Reduce f>
Run reduce(const Node& node) {
  const bool keep = node.flag("keepdims", true), noop = node.flag("noop_with_empty_axes", false);
  const std::vector<int64_t> given = node.integers("axes");
  return [=](const Inputs& x) -> Tensors {
    Dims axes = x.has(1) ? Dims(x.integers(1)) : Dims(given);
    if (axes.empty() && noop) {
      // Nothing is reduced, and what is done to each element is.
      return {f(x[0].unsqueeze(0), Dims(0), false)};
    }
    if (x[0].dim() == 0) return {f(x[0].unsqueeze(0), Dims(0), false)};
    const bool all = axes.empty();
    for (int i = 0; all && i < x[0].dim(); ++i) axes.push_back(i);
    return {f(x[0], axes, keep)};
  };
}

template <Reduce f>
Operator reduction() {
  return {reduce<f>, 1, 2};
}

// In the dtype that the op takes, and back.
template <Reduce f>
Tensor in_floats(const Tensor& x, const Dims& axes, bool keep) {
  return is_floating(x.dtype()) ? f(x, axes, keep) : f(x.to(f64), axes, keep).to(x.dtype());
}

Tensor sum_of(const Tensor& x, const Dims& axes, bool keep) {
  return sum(x, axes, keep, x.dtype());
}
Tensor l1(const Tensor& x, const Dims& axes, bool keep) { return norm(x, 1, axes, keep); }
Tensor l2(const Tensor& x, const Dims& axes, bool keep) { return norm(x, 2, axes, keep); }
Tensor squares(const Tensor& x, const Dims& axes, bool keep) {
  return sum_of(square(summable(x)), axes, keep).to(x.dtype());
}
Tensor log_of_sum(const Tensor& x, const Dims& axes, bool keep) {
  return log(sum(summable(x), axes, keep)).to(x.dtype());
}
// The extreme of no elements is the dtype's own, which the op doesn't give.
template <bool kLargest>
Tensor extreme(const Tensor& x, const Dims& axes, bool keep) {
  if (x.numel() > 0) return kLargest ? amax(x, axes, keep) : amin(x, axes, keep);
  const Shape shape = sum(x, axes, keep).shape();
  const double infinity = std::numeric_limits<double>::infinity();
  Scalar value = kLargest ? -infinity : infinity;
  if (x.dtype() == boolean) value = !kLargest;
  if (x.dtype() == u8) value = kLargest ? 0 : 255;
  if (x.dtype() == i32)
    value = int64_t{kLargest ? std::numeric_limits<int32_t>::min()
                             : std::numeric_limits<int32_t>::max()};
  if (x.dtype() == i64)
    value = kLargest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  return full(shape, value, {.dtype = x.dtype(), .device = x.device()});
}
Tensor product(const Tensor& x, const Dims& axes, bool keep) {
  return prod(x, axes, keep, x.dtype());
}
Tensor mean_of(const Tensor& x, const Dims& axes, bool keep) { return mean(x, axes, keep); }
Tensor log_of_exponents(const Tensor& x, const Dims& axes, bool keep) {
  return logsumexp(x, axes, keep);
}

// The last place of the extreme is the first of the reversed line.
template <Tensor (*f)(const Tensor&, std::optional<int64_t>, bool)>
Run arg_extreme(const Node& node) {
  const int64_t axis = node.integer("axis", 0);
  const bool keep = node.flag("keepdims", true), last = node.flag("select_last_index", false);
  return [=](const Inputs& x) -> Tensors {
    if (!last) return {f(x[0], axis, keep)};
    return {sub(x[0].size(axis) - 1, f(flip(x[0], {axis}), axis, keep))};
  };
}

Run gemm(const Node& node) {
  const bool trans_a = node.flag("transA", false), trans_b = node.flag("transB", false);
  const double alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  return [=](const Inputs& x) -> Tensors {
    const Tensor a = trans_a ? x[0].t() : x[0], b = trans_b ? x[1].t() : x[1];
    if (is_floating(a.dtype())) {
      const Tensor c = x.has(2) ? x[2] : zeros({}, {.dtype = a.dtype(), .device = a.device()});
      return {addmm(c, a, b, {.beta = x.has(2) ? beta : 0, .alpha = alpha})};
    }
    const auto times = [](const Tensor& t, double by) -> Tensor {
      if (by == 1) return t;
      check(by == std::trunc(by) && std::abs(by) < 0x1p31, "Gemm",
            "alpha and beta of integers must be whole and below 2^31", by);
      return mul(t, static_cast<int64_t>(by));
    };
    const Tensor y = times(mm(a, b), alpha);
    return {x.has(2) ? add(y, times(x[2], beta)) : y};
  };
}

template <bool kProduct>
Run cumulative(const Node& node) {
  const bool reverse = node.flag("reverse", false), exclusive = node.flag("exclusive", false);
  return [=](const Inputs& x) -> Tensors {
    const int64_t axis = x[1].item<int64_t>(), size = x[0].size(axis);
    Tensor line = reverse ? flip(x[0], {axis}) : x[0];
    if (exclusive && size > 0) {
      // What stands before the first element is the empty sum or product.
      const Tensor first = line.narrow(axis, 0, 1);
      line = cat({kProduct ? ones_like(first) : zeros_like(first), line.narrow(axis, 0, size - 1)},
                 axis);
    }
    const Tensor y =
        kProduct ? cumprod(line, axis, line.dtype()) : cumsum(line, axis, line.dtype());
    return {reverse ? flip(y, {axis}) : y};
  };
}

Run lp_normalized(const Node& node) {
  const int64_t axis = node.integer("axis", -1), p = node.integer("p", 2);
  node.check(p == 1 || p == 2, "attribute p must be 1 or 2", p);
  return [=](const Inputs& x) -> Tensors {
    const Tensor input = summable(x[0]), length = norm(input, static_cast<double>(p), axis, true);
    // A line of zeros stays one.
    return {div(input, where(eq(length, 0), ones_like(length), length)).to(x[0].dtype())};
  };
}

// Up to operator set 12 over all dimensions from the axis on, as one.
template <Tensor (*f)(const Tensor& x, int64_t axis)>
Run along_axis(const Node& node, const char* op) {
  const bool flattened = node.opset() < 13;
  const int64_t axis = node.integer("axis", flattened ? 1 : -1);
  return [=](const Inputs& x) -> Tensors {
    if (!flattened) return {f(x[0], axis)};
    // Behind the last dimension each element stands alone.
    if (axis == x[0].dim()) return {f(x[0].unsqueeze(-1), -1).squeeze(-1)};
    const int first = wrap_dim(op, axis, x[0].dim());
    return {f(x[0].flatten(first), -1).reshape(x[0].shape())};
  };
}

Tensor softmax_of(const Tensor& x, int64_t axis) { return softmax(x, axis); }
Tensor log_softmax_of(const Tensor& x, int64_t axis) { return log_softmax(x, axis); }
Tensor hardmax(const Tensor& x, int64_t axis) {
  return scatter(zeros_like(x), axis, argmax(x, axis, true), 1);
}

Run top_k(const Node& node) {
  const int64_t axis = node.integer("axis", -1);
  const bool largest = node.flag("largest", true), sorted = node.flag("sorted", true);
  const int64_t given = node.opset() < 10 ? node.integer("k", 0) : 0;
  return [=](const Inputs& x) -> Tensors {
    const int64_t k = x.has(1) ? x[1].item<int64_t>() : given;
    const ValuesIndices r = topk(x[0], k, axis, largest, sorted);
    return {r.values, r.indices};
  };
}

// values, place of the first occurrence, inverse, counts.
Run unique_of(const Node& node) {
  const bool by_axis = node.has("axis"), sorted = node.flag("sorted", true);
  const int64_t axis = node.integer("axis", 0);
  return [=](const Inputs& x) -> Tensors {
    const Unique u =
        by_axis ? unique_dim(x[0], axis, true, true, true) : unique(x[0], true, true, true);
    const Tensor inverse = u.inverse.flatten();
    const int64_t n = inverse.numel();
    const TensorOptions places{.dtype = i64, .device = x[0].device()};
    const Tensor first = scatter_reduce(full({u.counts.numel()}, n, places), 0, inverse,
                                        arange(n, places), ScatterReduce::amin);
    if (sorted) return {u.values, first, inverse, u.counts};
    // In the order in which they come.
    const Tensor order = argsort(first), rank = argsort(order);
    return {index_select(u.values, by_axis ? axis : 0, order), index_select(first, 0, order),
            index_select(rank, 0, inverse), index_select(u.counts, 0, order)};
  };
}

Run einsum_of(const Node& node) {
  const std::string equation = node.text("equation", "");
  return [=](const Inputs& x) -> Tensors { return {einsum(equation, x.all())}; };
}

}  // namespace

void add_reductions(Operators& table) {
  table["ReduceL1"] = reduction<in_floats<l1>>();
  table["ReduceL2"] = reduction<in_floats<l2>>();
  table["ReduceLogSum"] = reduction<in_floats<log_of_sum>>();
  table["ReduceLogSumExp"] = reduction<in_floats<log_of_exponents>>();
  table["ReduceMax"] = reduction<extreme<true>>();
  table["ReduceMin"] = reduction<extreme<false>>();
  table["ReduceMean"] = reduction<in_floats<mean_of>>();
  table["ReduceSum"] = reduction<sum_of>();
  table["ReduceSumSquare"] = reduction<squares>();
  table["ReduceProd"] = reduction<product>();
  table["ArgMax"] = {arg_extreme<argmax>};
  table["ArgMin"] = {arg_extreme<argmin>};
  table["CumSum"] = {cumulative<false>, 2, 2};
  table["CumProd"] = {cumulative<true>, 2, 2};
  table["Softmax"] = {[](const Node& node) { return along_axis<softmax_of>(node, "Softmax"); }};
  table["LogSoftmax"] = {
      [](const Node& node) { return along_axis<log_softmax_of>(node, "LogSoftmax"); }};
  table["Hardmax"] = {[](const Node& node) { return along_axis<hardmax>(node, "Hardmax"); }};
  table["LpNormalization"] = {lp_normalized};
  table["MatMul"] = {[](const Node&) -> Run {
                       return [](const Inputs& x) -> Tensors { return {matmul(x[0], x[1])}; };
                     },
                     2, 2};
  table["Gemm"] = {gemm, 2, 3};
  table["Einsum"] = {einsum_of, 1, kAnyNumber};
  table["Det"] = {[](const Node&) -> Run {
    return [](const Inputs& x) -> Tensors { return {linalg::det(x[0])}; };
  }};
  table["TopK"] = {top_k, 1, 2, 2};
  table["Unique"] = {unique_of, 1, 1, 4};
}

}  // namespace aorta::onnx
