#include <aorta/optim/adadelta.h>

#include <aorta/optim/group.h>

namespace aorta::optim {

namespace {
constexpr const char* kAdadelta = "adadelta";
}  // namespace

void AdadeltaOptions::check() const {
  aorta::check(lr >= 0, kAdadelta, "lr must be at least 0", lr);
  aorta::check(dialect == Dialect::pytorch || lr == 1, kAdadelta, "the paper's rule has no lr", lr);
  aorta::check(rho >= 0 && rho <= 1, kAdadelta, "rho must be in [0, 1]", rho);
  aorta::check(eps >= 0, kAdadelta, "eps must be at least 0", eps);
  aorta::check(weight_decay >= 0, kAdadelta, "weight_decay must be at least 0", weight_decay);
}

void Adadelta::step_group(size_t group) {
  const AdadeltaOptions& o = options(group);
  data(group).fused_step(UpdateRule::adadelta, {{"square_avg"}, {"acc_delta"}},
                         [&](const Progress&) {
                           UpdateNumbers<double> n;
                           n.sign = o.maximize ? -1 : 1;
                           n.weight_decay = o.weight_decay;
                           n.step_size = o.lr;
                           n.decay = o.rho;
                           n.square_mix = 1 - o.rho;
                           n.eps = o.eps;
                           return n;
                         });
}

StateNames Adadelta::state_names(size_t) const { return {.required = {"square_avg", "acc_delta"}}; }

}  // namespace aorta::optim
