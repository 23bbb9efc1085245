#pragma once

#include <aorta/core/ops/pointwise.h>

namespace aorta {

/// For each of `values` (.., M) the place (i64) in its row of `sorted_sequence` (.., N), ascending,
/// before which it would be put to keep the order: the first i with values <= sequence[i], or with
/// values < sequence[i] where `right`; N after all, as for NaN. A sequence (N) serves values of any
/// shape, a number too; otherwise all sizes but the last are alike. Dtypes promote; a sequence
/// of bool is refused. Nothing checks the order. No gradient.
Tensor searchsorted(const Tensor& sorted_sequence, const Operand& values, bool right = false);
/// What searchsorted takes by name.
struct SearchsortedOptions {
  bool right = false;
  /// i64 of the sequence's shape: the sequence's elements in their order are those at these places
  /// of their rows, as argsort gives them. Undefined: the sequence is ascending itself.
  Tensor sorter = {};
};
/// searchsorted by options: of a sequence that `sorter` puts in order, too.
Tensor searchsorted(const Tensor& sorted_sequence, const Operand& values,
                    const SearchsortedOptions& options);
/// The place of each element among `boundaries` (N), ascending: searchsorted(boundaries, input).
Tensor bucketize(const Operand& input, const Tensor& boundaries, bool right = false);

/// Whether each of `elements` is among `test_elements`, or isn't where `invert`, as bool; NaN is
/// equal to nothing. Dtypes promote; one of both may be a number. Composed of sort and
/// searchsorted. No gradient.
Tensor isin(const Operand& elements, const Operand& test_elements, bool invert = false);

}  // namespace aorta

namespace aorta::kernel {

struct SearchsortedArgs {
  const void* sequence;  // contiguous rows of `length`
  const void* values;    // contiguous
  int64_t* output;       // one for each of `count` values
  DType dtype;           // of sequence and values
  int64_t length, count;
  int64_t per_row;  // values that share a row of the sequence
  bool right;
};
using SearchsortedKernel = void (*)(const SearchsortedArgs& args);
extern Op<SearchsortedKernel, NoGradient> searchsorted_op;

}  // namespace aorta::kernel
