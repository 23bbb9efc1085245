#include <aorta/autograd/engine.h>
#include <aorta/autograd/function.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/recording.h>
#include <aorta/nn/parallel/placement.h>

#include <algorithm>
#include <optional>

namespace aorta::nn {
namespace {

using detail::Redistribution;
using Kind = Placement::Kind;

constexpr const char* kRedistribute = "redistribute";

int64_t dim_of(const Tensor& tensor, const Placement& shard) {
  const int64_t dim = shard.dim() < 0 ? shard.dim() + tensor.dim() : shard.dim();
  check(dim >= 0 && dim < tensor.dim(), kRedistribute, "a tensor must have the divided dimension",
        to_string(shard), " of ", tensor.shape());
  return dim;
}

TensorOptions like(const Tensor& tensor) {
  return {.dtype = tensor.dtype(), .device = tensor.device()};
}

// With zeros behind its rows, so that there are `rows`.
Tensor padded(const Tensor& tensor, int64_t dim, int64_t rows) {
  if (tensor.size(dim) == rows) return tensor;
  Shape missing = tensor.shape();
  missing[static_cast<int>(dim)] = rows - tensor.size(dim);
  return cat({tensor, zeros(missing, like(tensor))}, dim);
}

// The ranks' rows of dimension `dim` behind one another, of `size` (-1: all have as many).
Tensor gathered(const Tensor& part, int64_t dim, Communicator& group, int64_t size) {
  if (group.size() == 1) return part.clone();
  const int64_t ranks = group.size(), rows = size < 0 ? part.size(dim) : divide_up(size, ranks);
  const Tensor mine = padded(part, dim, rows);
  Shape shape = mine.shape();
  shape.insert(0, ranks);
  Shape whole = mine.shape();
  whole[static_cast<int>(dim)] = ranks * rows;
  const Tensor rows_of_all = mine.is_meta() ? empty(shape, like(mine)) : group.all_gather(mine);
  const Tensor all = rows_of_all.view(shape).movedim(0, dim).reshape(whole);
  return size < 0 ? all : all.narrow(dim, 0, size);
}

// This rank's rows, in memory of their own.
Tensor part_of(const Tensor& whole, int64_t dim, Communicator& group) {
  const int64_t size = whole.size(dim), rows = divide_up(size, group.size());
  const int64_t first = std::min(rows * group.rank(), size);
  return whole.narrow(dim, first, std::min(rows, size - first)).clone();
}

// This rank's rows of the sum.
Tensor reduced_part(const Tensor& partial, int64_t dim, Communicator& group) {
  if (group.size() == 1) return partial.clone();
  const int64_t ranks = group.size(), size = partial.size(dim), rows = divide_up(size, ranks);
  Shape shape = partial.shape();
  shape[static_cast<int>(dim)] = rows;
  shape.insert(static_cast<int>(dim), ranks);
  const Tensor by_rank = padded(partial, dim, ranks * rows).reshape(shape).movedim(dim, 0);
  const Tensor mine = (by_rank.is_meta() ? by_rank : group.reduce_scatter(by_rank))[0];
  return mine.narrow(dim, 0, std::clamp<int64_t>(size - rows * group.rank(), 0, rows));
}

Tensor sum_of(const Tensor& partial, Communicator& group) {
  const Tensor sum = partial.clone();
  if (!sum.is_meta()) group.all_reduce(sum);
  return sum;
}

Tensor moved(const Tensor& tensor, const Redistribution& how) {
  Communicator& group = *how.group;
  if (how.from == how.to) return tensor;
  if (group.size() > 1)
    kernel::refuse_in_capture(kRedistribute, "a captured step must not call other ranks", "one");
  std::optional<CollectiveSubject> subject;
  if (!how.subject.empty()) subject.emplace(how.subject);
  const bool to_shard = how.to.kind() == Kind::shard;
  switch (how.from.kind()) {
    case Kind::replicate:
      return part_of(tensor, dim_of(tensor, how.to), group);
    case Kind::shard: {
      const Tensor whole = gathered(tensor, dim_of(tensor, how.from), group, how.size);
      return to_shard ? part_of(whole, dim_of(whole, how.to), group) : whole;
    }
    case Kind::partial:
      return to_shard ? reduced_part(tensor, dim_of(tensor, how.to), group) : sum_of(tensor, group);
  }
  return {};
}

// As a gradient of what lies so does.
Placement dual(const Placement& placement) {
  return placement.kind() == Kind::partial ? Replicate() : placement;
}

void check_possible(const Redistribution& how) {
  check(how.to.kind() != Kind::partial, kRedistribute, "a result must be whole or divided",
        to_string(how.to));
  check(how.gradient == how.to ||
            (how.to.kind() == Kind::replicate && how.gradient.kind() == Kind::partial),
        kRedistribute, "a gradient must lie as the result does, or be partial where that is whole",
        to_string(how.gradient), " of ", to_string(how.to));
}

// Who fails in a pass ends the group, for the others would wait.
void watch_pass(Communicator& group) {
  static thread_local std::vector<const Communicator*> watched;
  if (std::find(watched.begin(), watched.end(), &group) != watched.end()) return;
  watched.push_back(&group);
  autograd::after_backward([&group](const std::exception_ptr& error) {
    std::erase(watched, &group);
    try {
      if (error) std::rethrow_exception(error);
    } catch (const RankError&) {
    } catch (const std::exception& failure) {
      group.abort("rank " + std::to_string(group.rank()) + ": " + failure.what());
    }
  });
}

// The gradient goes the way back, and its own goes forward again.
struct Redistribute : autograd::Function<Redistribute> {
  static constexpr const char* name = kRedistribute;
  struct Value {
    Tensor known;
  };
  static std::vector<Tensor> forward(FunctionContext& context, const Tensor& tensor,
                                     const Redistribution& how, const Value& value) {
    Redistribution back{.group = how.group,
                        .from = how.gradient,
                        .to = dual(how.from),
                        .gradient = how.from,
                        .size = how.size,
                        .subject = how.subject};
    if (how.to.kind() == Kind::shard) back.size = tensor.size(dim_of(tensor, how.to));
    context.data["back"] = back;
    return {value.known.defined() ? value.known : moved(tensor, how)};
  }
  static std::vector<Tensor> backward(FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    const auto& back = context.get<Redistribution>("back");
    watch_pass(*back.group);
    return {apply(gradients[0], back, Value{})[0]};
  }
};

}  // namespace

std::string to_string(const Placement& placement) {
  switch (placement.kind()) {
    case Kind::replicate:
      return "Replicate()";
    case Kind::partial:
      return "Partial()";
    case Kind::shard:
      break;
  }
  std::string text = "Shard(";
  aorta::detail::append(text, placement.dim());
  return text + ")";
}

namespace detail {

Tensor redistribute(const Tensor& tensor, const Redistribution& asked) {
  check_defined(kRedistribute, {{"tensor", tensor}});
  check_possible(asked);
  Redistribution how = asked;
  for (Placement* const placement : {&how.from, &how.to, &how.gradient})
    if (placement->kind() == Kind::shard) *placement = Shard(dim_of(tensor, *placement));
  if (how.from == how.to && how.gradient == how.to) return tensor;
  return Redistribute::apply(tensor, how, Redistribute::Value{})[0];
}

Tensor redistributed_as(const Tensor& tensor, const Tensor& value, const Redistribution& how) {
  check_possible(how);
  return Redistribute::apply(tensor, how, Redistribute::Value{value.detach()})[0];
}

}  // namespace detail

Tensor redistribute(const Tensor& tensor, Communicator& group, const Placement& from,
                    const Placement& to, const Placement& gradient) {
  return detail::redistribute(tensor,
                              {.group = &group, .from = from, .to = to, .gradient = gradient});
}

Tensor redistribute(const Tensor& tensor, Communicator& group, const Placement& from,
                    const Placement& to) {
  return redistribute(tensor, group, from, to, to);
}

Tensor distribute_tensor(const Tensor& tensor, Communicator& group, const Placement& to) {
  check_defined("distribute_tensor", {{"tensor", tensor}});
  const NoGradGuard no_grad;
  const Tensor whole = tensor.detach().clone();
  group.broadcast(whole);
  return redistribute(whole, group, Replicate(), to);
}

}  // namespace aorta::nn
