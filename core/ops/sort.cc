#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>

#include <algorithm>

namespace aorta::kernel {

constinit Op<SortKernel, PickGradient> sort_op{"sort"};
constinit Op<SortKernel, PickGradient> topk_op{"topk"};
constinit Op<UniqueKernel, NoGradient> unique_op{"unique"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// The first `take` of each line in order, without the first `skip`.
struct Taken {
  int64_t take;
  bool descending, sorted;
  int64_t skip = 0;
};

ValuesIndices run(const Op<SortKernel, PickGradient>& op, const Tensor& input, int dim,
                  const Taken& taken) {
  check(!input.is_complex(), op.name(), "dtype must be real", input.dtype());
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&input});
  const Tensor x = dense(input);
  const Lines lines = lines_of(x, dim);
  const int64_t length = taken.take - taken.skip;
  ValuesIndices result{empty_lines(x, dim, length, x.dtype()),
                       empty_lines(x, dim, length, DType::i64)};
  SortArgs args{x.data(),   result.values.data(), nullptr,      x.dtype(), lines,
                taken.take, taken.descending,     taken.sorted, taken.skip};
  args.indices = static_cast<int64_t*>(result.indices.data());
  if (result.values.numel() > 0) op.kernel(x.device())(args);
  if (is_floating(x.dtype()) && needs_gradient(input))
    op.gradient()(result.values, input, result.indices, dim, true);
  tell_tracer(op.name(), {&result.values, &result.indices}, {&input}, dim, taken.take,
              taken.descending);
  return result;
}

int64_t length_of(const Tensor& input, int dim) { return input.dim() ? input.shape()[dim] : 1; }

}  // namespace

ValuesIndices sort(const Tensor& input, int64_t dim, bool descending, bool) {
  check_defined("sort", {{"input", input}});
  const int d = wrap_dim("sort", dim, input.dim());
  return run(sort_op, input, d, {length_of(input, d), descending, true});
}

ValuesIndices sort(const Tensor& input, const SortOptions& o) {
  return sort(input, o.dim, o.descending, o.stable);
}

Tensor argsort(const Tensor& input, int64_t dim, bool descending, bool stable) {
  const CalledOp called("argsort");
  check_defined("argsort", {{"input", input}});
  return sort(input.detach(), dim, descending, stable).indices;
}

Tensor argsort(const Tensor& input, const SortOptions& o) {
  return argsort(input, o.dim, o.descending, o.stable);
}

ValuesIndices topk(const Tensor& input, int64_t k, int64_t dim, bool largest, bool sorted) {
  check_defined("topk", {{"input", input}});
  const int d = wrap_dim("topk", dim, input.dim());
  const int64_t length = length_of(input, d);
  check(k >= 0 && k <= length, "topk", "k must be in the range of the dimension", "k ", k,
        " for dim ", d, " of ", input.shape());
  return run(topk_op, input, d, {input.dim() ? k : 1, largest, sorted});
}

ValuesIndices topk(const Tensor& input, int64_t k, const TopkOptions& o) {
  return topk(input, k, o.dim, o.largest, o.sorted);
}

ValuesIndices kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
  check_defined("kthvalue", {{"input", input}});
  check(!input.is_complex(), "kthvalue", "dtype must be real", input.dtype());
  const int d = wrap_dim("kthvalue", dim, input.dim());
  const int64_t length = length_of(input, d);
  check(k >= 1 && k <= length, "kthvalue", "k must be in the range of the dimension", "k ", k,
        " for dim ", d, " of ", input.shape());
  if (input.dim() == 0) return topk(input, k, d, false);
  // A tracer is told of the first ones, for no format has the last of them alone.
  const int64_t place = is_traced() ? k - 1 : 0;
  const ValuesIndices found = run(topk_op, input, d, {k, false, true, k - 1 - place});
  if (keepdim) return {found.values.narrow(d, place, 1), found.indices.narrow(d, place, 1)};
  return {found.values.select(d, place), found.indices.select(d, place)};
}

Unique unique(const Tensor& input, bool, bool return_inverse, bool return_counts) {
  const CalledOp called("unique");
  check_defined("unique", {{"input", input}});
  const Tensor rows = input.detach().contiguous().view({input.numel(), 1});
  const ProfilerRange range("unique", {&input});
  Unique result = unique_op.kernel(input.device())(rows, return_inverse, return_counts);
  result.values = result.values.flatten();
  if (return_inverse) result.inverse = result.inverse.view(input.shape());
  tell_tracer(unique_op.name(), {&result.values, &result.inverse, &result.counts}, {&input});
  return result;
}

Unique unique(const Tensor& input, const UniqueOptions& o) {
  return unique(input, o.sorted, o.return_inverse, o.return_counts);
}

Unique unique_dim(const Tensor& input, int64_t dim, bool, bool return_inverse, bool return_counts) {
  const CalledOp called("unique_dim");
  check_defined("unique_dim", {{"input", input}});
  const int d = wrap_dim("unique_dim", dim, input.dim());
  if (input.dim() == 0) return unique(input, true, return_inverse, return_counts);
  const auto empty_sizes = std::count(input.shape().begin(), input.shape().end(), 0);
  check(empty_sizes == (input.shape()[d] == 0 ? 1 : 0) || empty_sizes == 0, "unique_dim",
        "sizes must be positive, but for that of dim", input.shape(), " and dim ", d);
  const Tensor slices = movedim(input.detach(), d, 0).contiguous();
  const int64_t count = slices.shape()[0];
  Shape shape = slices.shape();
  shape.erase(0);
  const ProfilerRange range("unique_dim", {&input});
  Unique result = unique_op.kernel(input.device())(slices.view({count, shape.numel()}),
                                                   return_inverse, return_counts);
  shape.insert(0, result.values.shape()[0]);
  result.values = movedim(result.values.view(shape), 0, d);
  tell_tracer(unique_op.name(), {&result.values, &result.inverse, &result.counts}, {&input});
  return result;
}

Unique unique_dim(const Tensor& input, int64_t dim, const UniqueOptions& o) {
  return unique_dim(input, dim, o.sorted, o.return_inverse, o.return_counts);
}

Unique unique_consecutive(const Tensor& input, bool return_inverse, bool return_counts,
                          std::optional<int64_t> dim) {
  check_defined("unique_consecutive", {{"input", input}});
  const CalledOp called("unique_consecutive");
  const int d = dim ? wrap_dim("unique_consecutive", *dim, input.dim()) : 0;
  const Tensor x = dim && input.dim() > 0 ? movedim(input.detach(), d, 0)
                                          : input.detach().reshape({input.numel()});
  const int64_t length = x.size(0);
  const TensorOptions as_bool = {.dtype = DType::boolean, .device = x.device()};
  Tensor starts = ones({length}, as_bool);  // of runs
  if (length > 1) {
    const Tensor rows = x.reshape({length, x.numel() / length});
    starts.narrow(0, 1, length - 1)
        .copy_(any(ne(rows.narrow(0, 1, length - 1), rows.narrow(0, 0, length - 1)), 1));
  }
  const Tensor places = nonzero(starts).flatten();
  Unique result{index_select(x, 0, places), {}, {}};
  if (dim && input.dim() > 0) result.values = movedim(result.values, 0, d);
  if (return_inverse) {
    result.inverse = cumsum(starts, 0) - 1;
    if (!dim) result.inverse = result.inverse.view(input.shape());
  }
  if (return_counts) {
    const Tensor end = full({1}, length, {.dtype = DType::i64, .device = x.device()});
    result.counts = cat({places.slice(0, 1), end}).slice(0, 0, places.numel()) - places;
  }
  return result;
}

Unique unique_consecutive(const Tensor& input, const UniqueConsecutiveOptions& o) {
  return unique_consecutive(input, o.return_inverse, o.return_counts, o.dim);
}

}  // namespace aorta
