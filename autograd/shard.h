#pragma once

#include <aorta/core/comm.h>

#include <atomic>

namespace aorta::autograd {
namespace detail {
inline std::atomic<bool> are_shards = false;
}  // namespace detail

/// How the rows of a tensor that a group has together lie on the ranks, of which a leaf is this
/// rank's. Rank 0 has the first ones; each has as many but for the last, which may have fewer, or
/// none. A tensor without dimensions has one row.
class Shard {
 public:
  /// `whole`: a tensor like the one that the group has, whose elements are this rank's alone.
  Shard(Communicator& group, const Tensor& whole);

  Communicator& group() const { return *group_; }
  /// The tensor's shape, (N, *).
  const Shape& whole() const { return whole_; }
  /// Its layout: rows lie one after another, each in one piece.
  const Strides& strides() const { return strides_; }
  /// How many rows and elements a rank has room for.
  int64_t rows() const { return rows_; }
  int64_t elements() const { return rows_ * row_; }
  /// The shape of this rank's part.
  Shape part() const;
  /// The part of `whole` of this shape that is this rank's, a view.
  Tensor part_of(const Tensor& whole) const;
  /// The rank's rows in `buffer`, `start` elements behind its first, in this layout.
  Tensor rows_in(const Tensor& buffer, int64_t start) const;
  /// Writes `whole` into the rows of `buffer` (size(), *), each rank's into its own, `start`
  /// elements behind their beginning.
  void spread(const Tensor& whole, const Tensor& buffer, int64_t start) const;
  /// The tensor of which each rank gives its `part`, with as many elements for each as there is
  /// room for; all ranks call it.
  Tensor gather(const Tensor& part) const;

 private:
  Communicator* group_;
  Shape whole_;
  Strides strides_;    // with one for the row of a tensor without dimensions
  int64_t count_ = 1;  // rows of the whole tensor
  int64_t rows_ = 0;   // of each rank
  int64_t first_ = 0;  // this rank's first row
  int64_t mine_ = 0;   // rows of this rank
  int64_t row_ = 1;    // elements
};

/// What the leaf is a part of; null where it is a tensor of its own, or undefined.
const Shard* shard_of(const Tensor& leaf);
/// Whether this program has made any.
inline bool are_shards() { return detail::are_shards.load(std::memory_order_relaxed); }
/// Makes the leaf, which is the whole tensor, this rank's part of it. It stays the object that it
/// is, with its hooks, and loses its gradient.
void make_shard(const Tensor& leaf, Communicator& group);
/// Throws where the leaf is a part: for what computes with whole tensors.
void check_whole(const char* op, const Tensor& leaf);

}  // namespace aorta::autograd
