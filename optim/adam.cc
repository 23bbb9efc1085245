#include <aorta/optim/adam.h>

#include <aorta/optim/group.h>

#include <cmath>

namespace aorta::optim {

namespace {

template <class O>
void check_adam(const char* op, const O& o) {
  check(o.lr >= 0, op, "lr must be at least 0", o.lr);
  for (double beta : {o.betas[0], o.betas[1]})
    check(beta >= 0 && beta < 1, op, "betas must be in [0, 1)", beta);
  check(o.eps >= 0, op, "eps must be at least 0", o.eps);
  check(o.weight_decay >= 0, op, "weight_decay must be at least 0", o.weight_decay);
}

template <class O>
void step_adam(GroupData& group, const O& o, bool decoupled) {
  const auto numbers = [&](const Progress& progress) {
    const double t = static_cast<double>(progress.step);
    UpdateNumbers<double> n;
    n.sign = o.maximize ? -1 : 1;
    if (decoupled)
      n.shrink = 1 - o.lr * o.weight_decay;
    else
      n.weight_decay = o.weight_decay;
    n.step_size = o.lr / (1 - std::pow(o.betas[0], t));
    n.mix = 1 - o.betas[0];
    n.decay = o.betas[1];
    n.square_mix = 1 - o.betas[1];
    n.root_scale = std::sqrt(1 - std::pow(o.betas[1], t));
    n.eps = o.eps;
    return n;
  };
  if (o.amsgrad)
    group.fused_step(UpdateRule::adam_amsgrad, {{"exp_avg"}, {"exp_avg_sq"}, {"max_exp_avg_sq"}},
                     numbers);
  else
    group.fused_step(UpdateRule::adam, {{"exp_avg"}, {"exp_avg_sq"}}, numbers);
}

StateNames adam_names() {
  return {.required = {"exp_avg", "exp_avg_sq"}, .optional = {"max_exp_avg_sq"}};
}

}  // namespace

void AdamOptions::check() const { check_adam("adam", *this); }
void Adam::step_group(size_t group) {
  step_adam(data(group), options(group), options(group).decoupled_weight_decay);
}
StateNames Adam::state_names(size_t) const { return adam_names(); }

void AdamWOptions::check() const { check_adam("adamw", *this); }
void AdamW::step_group(size_t group) { step_adam(data(group), options(group), true); }
StateNames AdamW::state_names(size_t) const { return adam_names(); }

}  // namespace aorta::optim
