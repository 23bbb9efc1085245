#include <aorta/optim/nadam.h>

#include <aorta/optim/group.h>

#include <cmath>

namespace aorta::optim {

namespace {
constexpr const char* kNadam = "nadam";
}  // namespace

void NAdamOptions::check() const {
  aorta::check(lr >= 0, kNadam, "lr must be at least 0", lr);
  for (double beta : {betas[0], betas[1]})
    aorta::check(beta >= 0 && beta < 1, kNadam, "betas must be in [0, 1)", beta);
  aorta::check(eps >= 0, kNadam, "eps must be at least 0", eps);
  aorta::check(weight_decay >= 0, kNadam, "weight_decay must be at least 0", weight_decay);
  aorta::check(momentum_decay >= 0, kNadam, "momentum_decay must be at least 0", momentum_decay);
}

void NAdam::step_group(size_t group) {
  const NAdamOptions& o = options(group);
  const auto mu = [&](double t) {
    return o.betas[0] * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay));
  };
  const auto numbers = [&](Progress& progress) {
    const double t = static_cast<double>(progress.step);
    const double product = (std::isnan(progress.value) ? 1 : progress.value) * mu(t);
    progress.value = product;
    UpdateNumbers<double> n;
    n.sign = o.maximize ? -1 : 1;
    if (o.decoupled_weight_decay)
      n.shrink = 1 - o.lr * o.weight_decay;
    else
      n.weight_decay = o.weight_decay;
    n.gradient_step = o.lr * (1 - mu(t)) / (1 - product);
    n.step_size = o.lr * mu(t + 1) / (1 - product * mu(t + 1));
    n.mix = 1 - o.betas[0];
    n.decay = o.betas[1];
    n.square_mix = 1 - o.betas[1];
    n.root_scale = std::sqrt(1 - std::pow(o.betas[1], t));
    n.eps = o.eps;
    return n;
  };
  data(group).fused_step(UpdateRule::nadam, {{"exp_avg"}, {"exp_avg_sq"}}, numbers,
                         &data(group).value("mu_product"));
}

StateNames NAdam::state_names(size_t) const {
  return {.required = {"exp_avg", "exp_avg_sq"}, .values = {"mu_product"}};
}

}  // namespace aorta::optim
