#pragma once

#include <aorta/core/body/indexing.h>
#include <aorta/core/dispatch/op_table.h>

#include <optional>
#include <span>
#include <vector>

namespace aorta {

// Reading and writing by index. Any dtype and layout; index tensors are i64 or i32, on the input's
// device. Every index is checked before anything is written: "gather: index out of range, got 7 in
// dimension 1 of size 5". Negative indices count from the end in index, index_put_, index_fill,
// take and take_along_dim; elsewhere they are errors, as in PyTorch.
//
// Where an element is written more than once, values arrive in row-major order of the index: the
// last one stays, sums are taken in that order. So results are the same bits for any number of
// threads (threads share the positions beside the indexed dimensions, never one element). Where
// more than 64 values are in order CUDA joins parts of them first, the same ones every time. Sums
// and products of f16 and bf16 are taken in f32 and rounded once.
//
// f_ writes into its first argument and returns it; f is f_ on a clone, and differentiable so.

/// output[p] = input[p with p_dim = index[p]]; output has the shape of `index`, which has as many
/// dimensions as the input and is no larger but along `dim`. Keeps the input's stride order.
Tensor gather(const Tensor& input, int64_t dim, const Tensor& index);
/// The slices index[0], index[1], ... (1-d or 0-d) along `dim`; of a 0-d tensor the one that it is,
/// 0-d. Composed of gather.
Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index);
/// gather with `input` and `index` broadcast to each other but along `dim`; without `dim` from the
/// flattened input. Composed of gather.
Tensor take_along_dim(const Tensor& input, const Tensor& index, std::optional<int64_t> dim = {});
/// Elements by their place in the flattened input, in the shape of `index`. Composed of gather.
Tensor take(const Tensor& input, const Tensor& index);
/// The indices (i64) by dimension of places in a flattened tensor of a shape, one tensor each;
/// those outside wrap around. Composed of floor_divide and remainder. Errors: `indices` that aren't
/// integers.
std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape);

/// input[p with p_dim = index[p]] = source[p] for every p in `index`, which is no larger than
/// `source` and, but along `dim`, than `input`. `source` has the input's dtype.
Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value);
const Tensor& scatter_(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
const Tensor& scatter_(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value);
/// input[p with p_dim = index[p]] += source[p].
Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
const Tensor& scatter_add_(const Tensor& input, int64_t dim, const Tensor& index,
                           const Tensor& source);

/// How scatter_reduce combines values that meet.
enum class ScatterReduce : uint8_t { sum, prod, amax, amin, mean };
/// Reduces the sources that meet an element, together with its old value when `include_self`;
/// elements that none meets stay. The mean of integers is rounded down. NaN wins in amax and amin.
Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                      ScatterReduce reduce, bool include_self = true);
/// Composed of scatter_reduce and copy_.
const Tensor& scatter_reduce_(const Tensor& input, int64_t dim, const Tensor& index,
                              const Tensor& source, ScatterReduce reduce, bool include_self = true);

// By slices: `index` (n) or 0-d names slices of `input` along `dim`.

/// input[..., index[i], ...] += alpha * source[..., i, ...]; integers take an integer alpha.
/// Composed of scatter_add_.
Tensor index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha = 1);
const Tensor& index_add_(const Tensor& input, int64_t dim, const Tensor& index,
                         const Tensor& source, const Scalar& alpha = 1);
/// scatter_reduce of slices: prod, amax, amin or mean of those that meet.
Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    ScatterReduce reduce, bool include_self = true);
const Tensor& index_reduce_(const Tensor& input, int64_t dim, const Tensor& index,
                            const Tensor& source, ScatterReduce reduce, bool include_self = true);
/// input[..., index[i], ...] = source[..., i, ...]. Composed of scatter_.
Tensor index_copy(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source);
const Tensor& index_copy_(const Tensor& input, int64_t dim, const Tensor& index,
                          const Tensor& source);
/// input[..., index[i], ...] = value. Composed of scatter_.
Tensor index_fill(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value);
const Tensor& index_fill_(const Tensor& input, int64_t dim, const Tensor& index,
                          const Scalar& value);

/// start, start + step, ... before stop, as in Python; step is positive. `Slice{}` is everything.
struct Slice {
  std::optional<int64_t> start = {};
  std::optional<int64_t> stop = {};
  int64_t step = 1;
};
/// A new dimension of size 1.
struct NoneIndex {
  /// `Slice{None, 3}`, as Python's `[None:3]`.
  template <class T>
  constexpr operator std::optional<T>() const {  // NOLINT: implicit
    return {};
  }
};
/// The index that makes a new dimension of size 1.
inline constexpr NoneIndex None{};
/// As many full slices as there are dimensions left.
struct EllipsisIndex {};
/// The index that stands for as many full slices as there are dimensions left.
inline constexpr EllipsisIndex Ellipsis{};

/// One place of `x[...]`: an integer, a Slice, None, Ellipsis, a bool, or a tensor (i64, i32, or
/// bool as a mask over as many dimensions as it has).
class Index {
 public:
  enum class Kind : uint8_t { integer, slice, none, ellipsis, boolean, tensor };

  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Index(T value)  // NOLINT: implicit, as all of these: `index(x, {0, Slice{1, 3}, mask})`
      : kind_(std::is_same_v<T, bool> ? Kind::boolean : Kind::integer),
        integer_(static_cast<int64_t>(value)) {}
  Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}       // NOLINT
  Index(NoneIndex) : kind_(Kind::none) {}                                // NOLINT
  Index(EllipsisIndex) : kind_(Kind::ellipsis) {}                        // NOLINT
  Index(const Tensor& tensor) : kind_(Kind::tensor), tensor_(tensor) {}  // NOLINT

  Kind kind() const { return kind_; }
  int64_t integer() const { return integer_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};

/// x[i, j, ...] by PyTorch's rules. Integers (0-d integer tensors too), slices, None and Ellipsis
/// give a view. Index tensors broadcast together and give a copy; their dimensions take the place
/// of the indexed ones when those are neighbours, else they come first. A mask counts as the index
/// tensors of its nonzero().
Tensor index(const Tensor& input, const List<Index>& indices);

/// What index tensors have gathered: a tensor of its own, in which nothing is written by accident.
class Gathered : public Tensor {
 public:
  explicit Gathered(Tensor copy) : Tensor(std::move(copy)) {}
  using Tensor::operator=;
};
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator+=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0,
                "x[places] += y changes a copy: use index_put_(x, {places}, y, true)");
}
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator-=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] -= y changes a copy: use index_put_");
}
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator*=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] *= y changes a copy: use index_put_");
}
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator/=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] /= y changes a copy: use index_put_");
}

/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator%=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] %= y changes a copy: use index_put_");
}
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator&=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] &= y changes a copy: use index_put_");
}
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator|=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] |= y changes a copy: use index_put_");
}
/// Doesn't compile: `x[places]` is a copy.
template <class T>
void operator^=(Gathered&&, const T&) {
  static_assert(sizeof(T) == 0, "x[places] ^= y changes a copy: use index_put_");
}

/// A copy where index tensors or masks are among the indices, else a view.
template <class... Indices>
auto Tensor::operator()(const Indices&... indices) const {
  static_assert(sizeof...(indices) > 0, "x() has no index");
  Tensor found = index(List<Index>{Index(indices)...});
  if constexpr ((std::derived_from<Indices, Tensor> || ...))
    return Gathered(std::move(found));
  else
    return found;
}

/// x[i, j, ...] = values, or += with `accumulate`. `values` has the input's dtype and broadcasts to
/// the shape of index(input, indices).
const Tensor& index_put_(const Tensor& input, const List<Index>& indices, const Tensor& values,
                         bool accumulate = false);
const Tensor& index_put_(const Tensor& input, const List<Index>& indices, const Scalar& value,
                         bool accumulate = false);
Tensor index_put(const Tensor& input, const List<Index>& indices, const Tensor& values,
                 bool accumulate = false);

/// The positions of the elements that aren't 0, (count, ndim) i64, in row-major order. The host
/// waits for the count. Not differentiable.
Tensor nonzero(const Tensor& input);
/// nonzero() as one tensor a dimension.
std::vector<Tensor> where(const Tensor& condition);

/// The elements where `mask` (bool) holds, 1-d; the two broadcast. Composed of nonzero and gather.
Tensor masked_select(const Tensor& input, const Tensor& mask);
/// Writes the elements of `source`, in order, where `mask` (bool, broadcast to the input) holds.
/// The form that isn't in place broadcasts `input` too. Composed of nonzero and index_put_.
const Tensor& masked_scatter_(const Tensor& input, const Tensor& mask, const Tensor& source);
Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source);

/// (...) classes -> (..., num_classes) i64, 1 at the class and 0 elsewhere; -1: the largest class
/// plus 1. Input i64 or i32. Errors: a class < 0 or >= num_classes.
Tensor one_hot(const Tensor& input, int64_t num_classes = -1);

}  // namespace aorta

namespace aorta::kernel {

/// values = table: the kernel of gather and index. numel is at least 1.
using GatherKernel = void (*)(const body::IndexedArgs& args);
extern Op<GatherKernel, void (*)(Tensor& output, const Tensor& input, int dim, const Tensor& index)>
    gather_op;
/// `indices` has an entry a dimension of the input (sliced and expanded by the rest already), an
/// undefined tensor where a dimension isn't indexed, else an i64 tensor without negative indices.
/// The tensors broadcast; where their dimensions go is said at index().
extern Op<GatherKernel,
          void (*)(Tensor& output, const Tensor& input, std::span<const Tensor> indices)>
    index_op;

/// table = combine(mode, table, values): the kernel of scatter, scatter_add and index_put_. The
/// dtype is no half type unless the mode is assign.
using ScatterKernel = void (*)(const body::IndexedArgs& args, body::ScatterMode mode);
using ScatterGradient = void (*)(const Tensor& self, int dim, const Tensor& index,
                                 const Tensor& source);
extern Op<ScatterKernel, ScatterGradient> scatter_op, scatter_add_op;
extern Op<ScatterKernel, void (*)(Tensor& output, const Tensor& input, int dim, const Tensor& index,
                                  const Tensor& source, ScatterReduce reduce, bool include_self)>
    scatter_reduce_op;
/// `self` and `indices` as in index_op; `values` before broadcasting.
extern Op<ScatterKernel, void (*)(const Tensor& self, std::span<const Tensor> indices,
                                  const Tensor& values, bool accumulate)>
    index_put_op;

/// The first position (row-major) of the contiguous i64 tensor `index` whose value isn't in
/// [lowest, size), or -1. On a device nobody waits for the answer: it is -1, and a later wait
/// throws what was found. `inside`, where it is given, gets as many indices in [0, size), which is
/// positive then: `index` with size added to negative ones, and any for one that isn't in range.
using FindBadIndexKernel = int64_t (*)(const Tensor& index, int64_t lowest, int64_t size,
                                       int64_t* inside);
extern Op<FindBadIndexKernel, NoGradient> find_bad_index_op;

using NonzeroKernel = Tensor (*)(const Tensor& contiguous_input);
extern Op<NonzeroKernel, NoGradient> nonzero_op;

/// Sets the kernels of gather, scatter and their kin, all of them, for a device type.
void set_indexing_kernels(DeviceType type, GatherKernel gather, ScatterKernel scatter,
                          FindBadIndexKernel find_bad_index, NonzeroKernel nonzero);

}  // namespace aorta::kernel
