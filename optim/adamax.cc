#include <aorta/optim/adamax.h>

#include <aorta/optim/group.h>

#include <cmath>

namespace aorta::optim {

namespace {
constexpr const char* kAdamax = "adamax";
}  // namespace

void AdamaxOptions::check() const {
  aorta::check(lr >= 0, kAdamax, "lr must be at least 0", lr);
  for (double beta : {betas[0], betas[1]})
    aorta::check(beta >= 0 && beta < 1, kAdamax, "betas must be in [0, 1)", beta);
  aorta::check(eps >= 0, kAdamax, "eps must be at least 0", eps);
  aorta::check(weight_decay >= 0, kAdamax, "weight_decay must be at least 0", weight_decay);
}

void Adamax::step_group(size_t group) {
  const AdamaxOptions& o = options(group);
  data(group).fused_step(
      UpdateRule::adamax, {{"exp_avg"}, {"exp_inf"}}, [&](const Progress& progress) {
        UpdateNumbers<double> n;
        n.sign = o.maximize ? -1 : 1;
        n.weight_decay = o.weight_decay;
        n.step_size = o.lr / (1 - std::pow(o.betas[0], static_cast<double>(progress.step)));
        n.mix = 1 - o.betas[0];
        n.decay = o.betas[1];
        n.eps = o.eps;
        return n;
      });
}

StateNames Adamax::state_names(size_t) const { return {.required = {"exp_avg", "exp_inf"}}; }

}  // namespace aorta::optim
