#include <aorta/optim/radam.h>

#include <aorta/optim/group.h>

#include <cmath>

namespace aorta::optim {

namespace {
constexpr const char* kRadam = "radam";
}  // namespace

void RAdamOptions::check() const {
  aorta::check(lr >= 0, kRadam, "lr must be at least 0", lr);
  for (double beta : {betas[0], betas[1]})
    aorta::check(beta >= 0 && beta < 1, kRadam, "betas must be in [0, 1)", beta);
  aorta::check(eps >= 0, kRadam, "eps must be at least 0", eps);
  aorta::check(weight_decay >= 0, kRadam, "weight_decay must be at least 0", weight_decay);
}

void RAdam::step_group(size_t group) {
  const RAdamOptions& o = options(group);
  data(group).fused_step(
      UpdateRule::radam, {{"exp_avg"}, {"exp_avg_sq"}}, [&](const Progress& progress) {
        const double t = static_cast<double>(progress.step);
        const double beta2_t = std::pow(o.betas[1], t), correction = 1 - beta2_t;
        const double rho = 2 / (1 - o.betas[1]) - 1, rho_t = rho - 2 * t * beta2_t / correction;
        UpdateNumbers<double> n;
        n.sign = o.maximize ? -1 : 1;
        if (o.decoupled_weight_decay)
          n.shrink = 1 - o.lr * o.weight_decay;
        else
          n.weight_decay = o.weight_decay;
        n.mix = 1 - o.betas[0];
        n.decay = o.betas[1];
        n.square_mix = 1 - o.betas[1];
        n.eps = o.eps;
        n.step_size = o.lr / (1 - std::pow(o.betas[0], t));
        n.root_scale = 0;
        if (rho_t > 5) {
          n.step_size *=
              std::sqrt((rho_t - 4) * (rho_t - 2) * rho / ((rho - 4) * (rho - 2) * rho_t));
          n.root_scale = std::sqrt(correction);
        }
        return n;
      });
}

StateNames RAdam::state_names(size_t) const { return {.required = {"exp_avg", "exp_avg_sq"}}; }

}  // namespace aorta::optim
