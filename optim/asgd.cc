#include <aorta/optim/asgd.h>

#include <aorta/optim/group.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim {

namespace {
constexpr const char* kAsgd = "asgd";
}  // namespace

void ASGDOptions::check() const {
  aorta::check(lr >= 0, kAsgd, "lr must be at least 0", lr);
  aorta::check(lambd >= 0, kAsgd, "lambd must be at least 0", lambd);
  aorta::check(alpha >= 0, kAsgd, "alpha must be at least 0", alpha);
  aorta::check(!std::isnan(t0), kAsgd, "t0 must be a number", t0);
  aorta::check(weight_decay >= 0, kAsgd, "weight_decay must be at least 0", weight_decay);
}

void ASGD::step_group(size_t group) {
  const ASGDOptions& o = options(group);
  const auto numbers = [&](Progress& progress) {
    const double t = static_cast<double>(progress.step);
    const double lr = o.lr, eta = std::isnan(progress.value) ? lr : progress.value;
    progress.value = lr / std::pow(1 + o.lambd * lr * t, o.alpha);
    UpdateNumbers<double> n;
    n.sign = o.maximize ? -1 : 1;
    n.weight_decay = o.weight_decay;
    n.shrink = 1 - o.lambd * eta;
    n.step_size = eta;
    n.mix = 1 / std::max(1.0, t - 1 - o.t0);
    return n;
  };
  data(group).fused_step(UpdateRule::asgd, {{"ax"}}, numbers, &data(group).value("eta"));
}

StateNames ASGD::state_names(size_t) const { return {.required = {"ax"}, .values = {"eta"}}; }

}  // namespace aorta::optim
