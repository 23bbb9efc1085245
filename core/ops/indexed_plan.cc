#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>

#include <algorithm>

namespace aorta::kernel {

static_assert(body::kMaxDims == kMaxDims);

Tensor prepare_index(const char* op, const Tensor& index, const Tensor& table,
                     const Tensor* written) {
  check(index.dtype() == DType::i64 || index.dtype() == DType::i32 || index.numel() == 0, op,
        "the index must be i64 or i32", index.dtype());
  check(index.device() == table.device(), op, "tensors must be on one device", table.device(),
        " and ", index.device());
  if (written && index.shares_storage(*written)) return index.to({.dtype = i64, .copy = true});
  return index.to(i64);
}

CheckedIndex check_values(const Tensor& index, int64_t size, bool negative) {
  if (index.numel() == 0 || index.is_meta()) return {index, -1};
  const auto find_bad = find_bad_index_op.kernel(index.device());
  const int64_t lowest = negative ? -size : 0;
  if (index.device().is_cpu()) {
    const int64_t outside = find_bad(index, 0, size, nullptr);
    if (outside < 0 || !negative) return {index, outside};
  }
  if (size == 0) return {index, 0};
  Tensor inside = empty_like(index);
  const int64_t bad = find_bad(index, lowest, size, inside.data<int64_t>());
  return {std::move(inside), bad};
}

Tensor check_index(const char* op, const Tensor& index, int dim, int64_t size, bool negative) {
  Tensor distinct = index;  // not made as large as it is expanded
  for (int d = 0; d < index.dim(); ++d) {
    if (distinct.strides()[d] == 0 && distinct.shape()[d] > 1) distinct = distinct.narrow(d, 0, 1);
  }
  distinct = distinct.contiguous();
  const CheckedIndex checked = check_values(distinct, size, negative);
  if (checked.bad >= 0) {
    fail(op, "index out of range", distinct.reshape({-1}).select(0, checked.bad).item(),
         " in dimension ", dim, " of size ", size);
  }
  return checked.inside.shares_storage(distinct) ? index : checked.inside.expand(index.shape());
}

body::ScatterMode mode_for(DType dtype, body::ScatterMode mode) {
  using body::ScatterMode;
  if (dtype != DType::boolean) return mode;
  return mode == ScatterMode::sum    ? ScatterMode::amax
         : mode == ScatterMode::prod ? ScatterMode::amin
                                     : mode;
}

namespace {

using body::IndexedArgs;
using body::ScatterMode;

// Moves free dimensions among their places so that the innermost has the smallest stride.
void sort_free(int* order, int n, const Strides& table_strides) {
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      const int64_t a = table_strides[order[i]], b = table_strides[order[j]];
      if (a != 0 && b != 0 && b < a) std::swap(order[i], order[j]);
    }
  }
}

bool merge(IndexedArgs& args, int into, int from) {
  const int64_t n = args.shape[into];
  bool fits = args.values_strides[from] == args.values_strides[into] * n &&
              args.table_strides[from] == args.table_strides[into] * n;
  for (int k = 0; k < args.indices; ++k)
    fits &= args.index_strides[k][from] == args.index_strides[k][into] * n;
  if (fits) args.shape[into] *= args.shape[from];
  return fits;
}

}  // namespace

IndexedArgs plan_indexed(const Shape& shape, PlannedTensor values, PlannedTensor table,
                         std::span<const PlannedIndex> indices, bool write) {
  IndexedArgs args;
  args.indices = static_cast<int>(indices.size());
  args.numel = shape.numel();
  args.values = values.tensor.data();
  args.table = table.tensor.data();
  for (int d = 0; d < table.tensor.dim(); ++d)
    args.table_extent += (table.tensor.shape()[d] - 1) * table.tensor.strides()[d];
  args.dtype = table.tensor.dtype() == DType::boolean ? DType::u8 : table.tensor.dtype();
  for (int k = 0; k < args.indices; ++k) {
    args.index[k] = indices[static_cast<size_t>(k)].data;
    args.step[k] = indices[static_cast<size_t>(k)].step;
  }
  int order[kMaxDims];
  int n = 0;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] != 1) order[n++] = d;
  }
  if (write) {
    sort_free(order, n, table.strides);
  } else {
    std::stable_sort(order, order + n,
                     [&](int a, int b) { return values.strides[a] < values.strides[b]; });
  }
  for (int i = 0; i < n; ++i) {
    const int d = order[i], at = args.ndim;
    args.shape[at] = shape[d];
    args.values_strides[at] = values.strides[d];
    args.table_strides[at] = table.strides[d];
    for (int k = 0; k < args.indices; ++k)
      args.index_strides[k][at] = indices[static_cast<size_t>(k)].strides[d];
    if (at == 0 || !merge(args, at - 1, at)) ++args.ndim;
  }
  return args;
}

void combine_half(ScatterKernel scatter, GatherKernel gather, ScatterMode mode,
                  const Planner& planner, const Tensor& table, const Tensor& values) {
  const Tensor addends = values.to(f32);
  // Each place that is met costs several visits in no order; the whole table costs two in order,
  // which are cheap on a GPU. A tracer knows whole tensors alone.
  constexpr int64_t kFew = 8;
  const bool few = planner.shape.numel() <= table.numel() / kFew;
  if (!few || !table.device().is_cpu() || is_traced()) {
    const Tensor wide = table.to(f32);
    scatter(planner.plan(addends, wide, true), mode);
    table.copy_(wide);
    return;
  }
  // Only elements that are met have a value in `wide`. One that is met several times is assigned
  // the same value each time.
  const Tensor wide = empty_like(table, {.dtype = f32});
  const auto move = [&](const Tensor& from, const Tensor& to) {
    const Tensor met = empty(planner.shape, {.dtype = from.dtype(), .device = from.device()});
    gather(planner.plan(met, from, false));
    scatter(planner.plan(met.to(to.dtype()), to, true), ScatterMode::assign);
  };
  move(table, wide);
  scatter(planner.plan(addends, wide, true), mode);
  move(wide, table);
}

}  // namespace aorta::kernel
