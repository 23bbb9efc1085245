#pragma once

#include <aorta/core/comm.h>

#include <atomic>

namespace aorta::autograd {
namespace detail {
inline std::atomic<bool> are_shards = false;
}  // namespace detail

/// How a tensor that a group has together lies on the ranks, of which a leaf is this rank's part:
/// the rows of one dimension. Rank 0 has the first ones; each has as many but for the last, which
/// may have fewer, or none. A tensor without dimensions has one row. What is divided may itself be
/// a part, of another group's tensor: the full one is what all of these groups have.
class Shard {
 public:
  /// `whole`: a tensor like the one that the group has, whose elements are this rank's alone.
  Shard(Communicator& group, const Tensor& whole, int64_t dim = 0,
        std::shared_ptr<const Shard> outer = nullptr);

  Communicator& group() const { return *group_; }
  /// The groups that have the full tensor, from this one outwards.
  std::vector<Communicator*> groups() const;
  /// The shape of the group's tensor, (N, *) along `dim` 0, and of the full one.
  const Shape& whole() const { return whole_; }
  const Shape& full() const { return outer_ ? outer_->full() : whole_; }
  int64_t dim() const { return dim_; }
  /// Layers compute with the part itself (nn::parallelize_module), and don't gather it first.
  bool is_computed_with() const { return computed_with_; }
  /// Its layout: the rows of dimension 0 lie one after another, each in one piece.
  const Strides& strides() const { return strides_; }
  /// How many rows and elements a rank has room for.
  int64_t rows() const { return rows_; }
  int64_t elements() const { return rows_ * row_; }
  /// The shape of this rank's part.
  Shape part() const;
  /// The part of `full` that is this rank's, a view.
  Tensor part_of(const Tensor& full) const;
  /// The full tensor of which each rank gives its `part`; all ranks of all groups call it.
  Tensor gather(const Tensor& part) const;

  // What dimension 0 alone has.
  /// The rank's rows in `buffer`, `start` elements behind its first, in this layout.
  Tensor rows_in(const Tensor& buffer, int64_t start) const;
  /// Writes `whole` into the rows of `buffer` (size(), *), each rank's into its own, `start`
  /// elements behind their beginning.
  void spread(const Tensor& whole, const Tensor& buffer, int64_t start) const;

 private:
  friend void make_shard(const Tensor& leaf, Communicator& group);
  friend void divide(const Tensor& leaf, Communicator& group, int64_t dim);
  Tensor own_part_of(const Tensor& whole) const;
  Tensor gather_rows(const Tensor& part) const;

  Communicator* group_;
  Shape whole_;
  int64_t dim_ = 0;
  std::shared_ptr<const Shard> outer_;
  bool computed_with_ = false;
  Strides strides_;    // with one for the row of a tensor without dimensions
  int64_t count_ = 1;  // rows of the whole tensor
  int64_t rows_ = 0;   // of each rank
  int64_t first_ = 0;  // this rank's first row
  int64_t mine_ = 0;   // rows of this rank
  int64_t row_ = 1;    // elements
};

/// What the leaf is a part of; null where it is a tensor of its own, or undefined.
const Shard* shard_of(const Tensor& leaf);
/// shard_of where the leaf must be gathered before it is computed with, else null.
const Shard* gathered_shard_of(const Tensor& leaf);
/// Whether this program has made any.
inline bool are_shards() { return detail::are_shards.load(std::memory_order_relaxed); }
/// Which part of its tensor the leaf is, "part 1 of 2"; empty where it is whole. Ranks that take
/// one another's values have the same.
std::string part_text(const Tensor& leaf);
/// Makes the leaf, which is the whole tensor, this rank's part of it, by rows of dimension 0, to be
/// gathered. It stays the object that it is, with its hooks, and loses its gradient.
void make_shard(const Tensor& leaf, Communicator& group);
/// make_shard along `dim`, for layers that compute with a part.
void divide(const Tensor& leaf, Communicator& group, int64_t dim);
/// Throws where the leaf is a part: for what computes with whole tensors.
void check_whole(const char* op, const Tensor& leaf);

}  // namespace aorta::autograd
