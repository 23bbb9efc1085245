#include <aorta/optim/sparse_adam.h>

#include <aorta/optim/group.h>

#include <cmath>

namespace aorta::optim {

void SparseAdamOptions::check() const {
  const char* const op = "sparse_adam";
  aorta::check(lr >= 0, op, "lr must be at least 0", lr);
  for (double beta : {betas[0], betas[1]})
    aorta::check(beta >= 0 && beta < 1, op, "betas must be in [0, 1)", beta);
  aorta::check(eps > 0, op, "eps must be above 0", eps);
}

void SparseAdam::step_group(size_t group) {
  const SparseAdamOptions& o = options(group);
  data(group).fused_step(UpdateRule::adam, {{"exp_avg"}, {"exp_avg_sq"}},
                         [&](const Progress& progress) {
                           const double t = static_cast<double>(progress.step);
                           UpdateNumbers<double> n;
                           n.sign = o.maximize ? -1 : 1;
                           n.step_size = o.lr / (1 - std::pow(o.betas[0], t));
                           n.mix = 1 - o.betas[0];
                           n.decay = o.betas[1];
                           n.square_mix = 1 - o.betas[1];
                           n.root_scale = std::sqrt(1 - std::pow(o.betas[1], t));
                           n.eps = o.eps / n.root_scale;  // the rule adds it after the correction
                           return n;
                         });
}

StateNames SparseAdam::state_names(size_t) const { return {.required = {"exp_avg", "exp_avg_sq"}}; }

}  // namespace aorta::optim
