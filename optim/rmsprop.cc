#include <aorta/optim/rmsprop.h>

#include <aorta/optim/group.h>

namespace aorta::optim {

namespace {
constexpr const char* kRmsprop = "rmsprop";
constexpr StateName kSquare{"square_avg"}, kAverage{"grad_avg"}, kBuffer{"momentum_buffer"};
}  // namespace

void RMSpropOptions::check() const {
  aorta::check(lr >= 0, kRmsprop, "lr must be at least 0", lr);
  aorta::check(alpha >= 0, kRmsprop, "alpha must be at least 0", alpha);
  aorta::check(eps >= 0, kRmsprop, "eps must be at least 0", eps);
  aorta::check(weight_decay >= 0, kRmsprop, "weight_decay must be at least 0", weight_decay);
  aorta::check(momentum >= 0, kRmsprop, "momentum must be at least 0", momentum);
}

void RMSprop::step_group(size_t g) {
  const RMSpropOptions& o = options(g);
  GroupData& group = data(g);
  const auto numbers = [&](const Progress&) {
    UpdateNumbers<double> n;
    n.sign = o.maximize ? -1 : 1;
    n.weight_decay = o.weight_decay;
    n.step_size = o.lr;
    n.momentum = o.momentum;
    n.decay = o.alpha;
    n.square_mix = 1 - o.alpha;
    n.eps = o.eps;
    return n;
  };
  const bool moves = o.momentum > 0;
  if (o.centered && moves)
    group.fused_step(UpdateRule::rmsprop_centered_momentum, {kSquare, kAverage, kBuffer}, numbers);
  else if (o.centered)
    group.fused_step(UpdateRule::rmsprop_centered, {kSquare, kAverage}, numbers);
  else if (moves)
    group.fused_step(UpdateRule::rmsprop_momentum, {kSquare, kBuffer}, numbers);
  else
    group.fused_step(UpdateRule::rmsprop, {kSquare}, numbers);
}

StateNames RMSprop::state_names(size_t) const {
  return {.required = {"square_avg"}, .optional = {"grad_avg", "momentum_buffer"}};
}

}  // namespace aorta::optim
