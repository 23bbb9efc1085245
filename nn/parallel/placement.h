#pragma once

#include <aorta/core/comm.h>

namespace aorta::nn {

/// How a group has a tensor together, as PyTorch's class of that name: one of those below.
class Placement {
 public:
  enum class Kind : uint8_t { replicate, shard, partial };
  Kind kind() const { return kind_; }
  /// The dimension that is divided, of a shard.
  int64_t dim() const { return dim_; }
  bool operator==(const Placement&) const = default;

 protected:
  Placement(Kind kind, int64_t dim) : kind_(kind), dim_(dim) {}

 private:
  Kind kind_;
  int64_t dim_;
};

/// Each rank has all of it.
struct Replicate : Placement {
  Replicate() : Placement(Kind::replicate, 0) {}
};
/// Each rank has its rows of dimension `dim`, which may count from the end: ceil(N / size()) of N,
/// the first rank the first ones, and the last ones what is left.
struct Shard : Placement {
  explicit Shard(int64_t dim) : Placement(Kind::shard, dim) {}
};
/// The sum of the ranks' tensors is what they have.
struct Partial : Placement {
  Partial() : Placement(Kind::partial, 0) {}
};
/// "Replicate()", "Shard(1)", "Partial()".
std::string to_string(const Placement& placement);

/// This rank's tensor where the group has the same one as `from` says, as `to` says: all ranks call
/// it. Whole where it is divided (all_gather), its rows where it is whole, added up where it is
/// partial (all_reduce, reduce_scatter). A dimension that is gathered divides into a part a rank.
///
/// It has a gradient, of any order: a whole result's gradient is the same on all ranks, or with
/// `gradient` = Partial() what each rank's own computation with it gives, of which the ranks' sum
/// is the gradient. That of a partial input is whole.
///
/// Errors: a `to` or `gradient` that can't be; a step that is captured.
Tensor redistribute(const Tensor& tensor, Communicator& group, const Placement& from,
                    const Placement& to);
Tensor redistribute(const Tensor& tensor, Communicator& group, const Placement& from,
                    const Placement& to, const Placement& gradient);

/// This rank's part of rank 0's tensor, in memory of its own: what PyTorch's distribute_tensor and
/// to_local give. The others' tensors are like it, and theirs are anything.
Tensor distribute_tensor(const Tensor& tensor, Communicator& group, const Placement& to);

}  // namespace aorta::nn

namespace aorta::nn::detail {

/// How a group has a tensor before and after, for redistribute.
struct Redistribution {
  Communicator* group;
  Placement from, to, gradient;
  int64_t size = -1;         // of the divided dimension; -1: it divides into a part a rank
  std::string subject = {};  // of the collectives, which ranks compare
};
Tensor redistribute(const Tensor& tensor, const Redistribution& how);
/// redistribute where `value` is known to be the result: the gradient's way alone.
Tensor redistributed_as(const Tensor& tensor, const Tensor& value, const Redistribution& how);

}  // namespace aorta::nn::detail
