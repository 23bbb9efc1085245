#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/ops/reduction.h>

namespace aorta {

// The order is that of numbers with NaN after all (bool: false, true), and under `descending` its
// reverse. Sorting is always stable: equals stay in their order.

/// What sort and argsort take by name: `sort(x, {.descending = true})`.
struct SortOptions {
  int64_t dim = -1;
  bool descending = false;
  bool stable = false;  // it always is
};
/// The elements along `dim` in order, and where each was (i64).
ValuesIndices sort(const Tensor& input, int64_t dim = -1, bool descending = false,
                   bool stable = false);
ValuesIndices sort(const Tensor& input, const SortOptions& options);
/// The indices of `sort`.
Tensor argsort(const Tensor& input, int64_t dim = -1, bool descending = false, bool stable = false);
Tensor argsort(const Tensor& input, const SortOptions& options);

/// The options of `topk` by name: `topk(x, 5, {.largest = false})`.
struct TopkOptions {
  int64_t dim = -1;
  bool largest = true;
  bool sorted = true;
};
/// The k largest (smallest) elements along `dim`, and where each was; of equals the first. In
/// order when `sorted`, else in the order of their places. Errors: k below 0 or above the size.
ValuesIndices topk(const Tensor& input, int64_t k, int64_t dim = -1, bool largest = true,
                   bool sorted = true);
ValuesIndices topk(const Tensor& input, int64_t k, const TopkOptions& options);

/// The k-th smallest element along `dim` (k = 1 the smallest), and where it was. Composed of topk
/// and select. Errors: k below 1 or above the size.
ValuesIndices kthvalue(const Tensor& input, int64_t k, int64_t dim = -1, bool keepdim = false);

/// What unique and unique_dim give.
struct Unique {
  Tensor values;   // (M) in order, or (.., M, ..) along dim
  Tensor inverse;  // i64: input = values[inverse]; undefined unless asked for
  Tensor counts;   // i64 (M): how often each occurs; undefined unless asked for
};
/// What they are asked by name: `unique(x, {.return_counts = true})`.
struct UniqueOptions {
  bool sorted = true;  // they always are
  bool return_inverse = false;
  bool return_counts = false;
};
/// The different elements of the flattened input, in order (`sorted` is PyTorch's argument; they
/// always are). The inverse has the input's shape. Every NaN is different.
Unique unique(const Tensor& input, bool sorted = true, bool return_inverse = false,
              bool return_counts = false);
Unique unique(const Tensor& input, const UniqueOptions& options);
/// The different slices along `dim`, in lexicographic order. The inverse is (size of dim).
Unique unique_dim(const Tensor& input, int64_t dim, bool sorted = true, bool return_inverse = false,
                  bool return_counts = false);
Unique unique_dim(const Tensor& input, int64_t dim, const UniqueOptions& options);

/// What unique_consecutive takes by name.
struct UniqueConsecutiveOptions {
  bool return_inverse = false;
  bool return_counts = false;
  std::optional<int64_t> dim = {};
};
/// The first of every run of equal neighbours of the flattened input, or of equal slices along
/// `dim`. The inverse, of the input's shape or (size of dim), names each one's run; counts are the
/// runs' lengths. NaN equals nothing. Composed of ne, nonzero and index_select.
Unique unique_consecutive(const Tensor& input, bool return_inverse = false,
                          bool return_counts = false, std::optional<int64_t> dim = {});
Unique unique_consecutive(const Tensor& input, const UniqueConsecutiveOptions& options);

}  // namespace aorta

namespace aorta::kernel {

struct SortArgs {
  const void* input;  // dense
  void* values;       // lines in the same order, each `take` - `skip` long (sort: take = length)
  int64_t* indices;   // the same
  DType dtype;
  Lines lines;
  int64_t take;
  bool descending;
  bool sorted;       // else the taken ones are in the order of their places
  int64_t skip = 0;  // so many of the first ones are left out
};
/// The first `take` elements of each line in order, without the first `skip`; of equals the first
/// in place.
using SortKernel = void (*)(const SortArgs& args);
extern Op<SortKernel, PickGradient> sort_op, topk_op;

/// input (rows, columns), contiguous: its different rows, in lexicographic order; NaN differs from
/// NaN. inverse (rows) and counts where asked for.
using UniqueKernel = Unique (*)(const Tensor& input, bool inverse, bool counts);
extern Op<UniqueKernel, NoGradient> unique_op;

}  // namespace aorta::kernel
