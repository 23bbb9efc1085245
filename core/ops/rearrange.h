#pragma once

#include <aorta/core/body/rearrange.h>
#include <aorta/core/dispatch/op_table.h>

#include <optional>
#include <vector>

namespace aorta {

// Any dtype, any layout. Results are new tensors.

/// Reverses the order along each of `dims`. Keeps the stride order.
Tensor flip(const Tensor& input, const Dims& dims);

/// Reverses the columns: flip along the second dimension.
Tensor fliplr(const Tensor& input);
/// Reverses the rows: flip along the first dimension.
Tensor flipud(const Tensor& input);
/// Turns the plane of two dimensions by `k` quarters, from dims[0] towards dims[1]; negative ones
/// the other way. Composed of flip and transpose.
Tensor rot90(const Tensor& input, int64_t k = 1, const Dims& dims = {0, 1});

/// Moves elements by `shifts[k]` positions along `dims[k]`; what leaves one end enters at the
/// other. Without `dims`, one shift of the tensor as a row of its elements. Keeps the stride order.
Tensor roll(const Tensor& input, const Dims& shifts, const Dims& dims);
Tensor roll(const Tensor& input, int64_t shift, std::optional<int64_t> dim = {});

/// constant: `value`; reflect: mirrored without the edge (3 2 | 1 2 3 | 2 1); replicate: the edge
/// (1 1 | 1 2 3 | 3 3); circular: the other end (2 3 | 1 2 3 | 1 2).
enum class PadMode : uint8_t { constant, reflect, replicate, circular };

/// Adds padding[0] elements before and padding[1] after along the last dimension, padding[2] and
/// padding[3] along the one before it, and so on. A negative number crops: circular looks at
/// what is left, reflect and replicate at the whole. reflect needs padding < size, circular padding
/// <= size, and all but constant a size of at least 1. Unlike PyTorch's, every mode takes any
/// number of dimensions. channels_last is kept.
Tensor pad(const Tensor& input, const Dims& padding, PadMode mode = PadMode::constant,
           const Scalar& value = 0);

/// Keeps the part of each matrix (..., rows, columns) on and below the `diagonal`-th diagonal (0 is
/// the main one, 1 the one above it); the rest is 0.
Tensor tril(const Tensor& input, int64_t diagonal = 0);
Tensor tril_(const Tensor& input, int64_t diagonal = 0);
/// The part on and above the `diagonal`-th diagonal; 0 elsewhere.
Tensor triu(const Tensor& input, int64_t diagonal = 0);
Tensor triu_(const Tensor& input, int64_t diagonal = 0);

/// The tensor `repeats[k]` times along dimension k, as a new tensor; more repeats than dimensions
/// add dimensions in front. Composed of expand, a copy and view.
Tensor repeat(const Tensor& input, const Dims& repeats);
/// Repeats as `repeat` does, with 1s put in front where `repeats` is shorter (numpy.tile).
Tensor tile(const Tensor& input, const Dims& repeats);
/// Each element `repeats` times in a row along `dim`; without `dim` the tensor is flattened first.
/// Composed of expand and a copy.
Tensor repeat_interleave(const Tensor& input, int64_t repeats, std::optional<int64_t> dim = {});
/// The i-th element repeats[i] times; `repeats` (size of dim) or (1), integers >= 0. Composed of
/// index_select.
Tensor repeat_interleave(const Tensor& input, const Tensor& repeats,
                         std::optional<int64_t> dim = {});

/// Grids of coordinates from 0-d or 1-d tensors of sizes n_0, n_1, ...: output k is (n_0, n_1, ...)
/// and varies along dimension k alone ("ij"); "xy" swaps the first two dimensions. Views.
std::vector<Tensor> meshgrid(const List<Tensor>& tensors, const char* indexing = "ij");

/// Every choice of an element of each of k vectors, the last one varying fastest: (n_0 n_1 ..., k);
/// of one vector itself. Composed of meshgrid and stack.
Tensor cartesian_prod(const List<Tensor>& tensors);
/// Every choice of r elements of a vector (n), in its order, each element once or, with
/// replacement, any number of times: (choices, r). Composed of index_select.
Tensor combinations(const Tensor& input, int64_t r = 2, bool with_replacement = false);

}  // namespace aorta

namespace aorta::kernel {

/// flip, roll and pad share one kernel: see body::RemapArgs. numel is at least 1.
using RemapKernel = void (*)(const body::RemapArgs& args);
/// `dims` are counted from the front.
extern Op<RemapKernel, void (*)(Tensor& output, const Tensor& input, const Dims& dims)> flip_op;
/// dims are counted from the front, each once; shifts[k] belongs to dims[k], 0 <= shift < size.
extern Op<RemapKernel,
          void (*)(Tensor& output, const Tensor& input, const Dims& shifts, const Dims& dims)>
    roll_op;
/// `input` is cropped already: no padding is negative.
extern Op<RemapKernel,
          void (*)(Tensor& output, const Tensor& input, const Dims& padding, PadMode mode)>
    pad_op;

/// tril and triu share one kernel. numel is at least 1.
using TriangleKernel = void (*)(const body::TriangleArgs& args);
using TriangleGradient = void (*)(Tensor& output, const Tensor& input, int64_t diagonal);
extern Op<TriangleKernel, TriangleGradient> tril_op, triu_op;

}  // namespace aorta::kernel
