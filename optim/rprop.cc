#include <aorta/optim/rprop.h>

#include <aorta/optim/group.h>

namespace aorta::optim {

namespace {
constexpr const char* kRprop = "rprop";
}  // namespace

void RpropOptions::check() const {
  aorta::check(lr >= 0, kRprop, "lr must be at least 0", lr);
  aorta::check(etas[0] > 0 && etas[0] < 1 && etas[1] > 1, kRprop,
               "etas must be between 0 and 1, and above 1", etas[0], " and ", etas[1]);
  aorta::check(step_sizes[0] >= 0 && step_sizes[0] <= step_sizes[1], kRprop,
               "step_sizes must be at least 0, and the smallest first", step_sizes[0], " and ",
               step_sizes[1]);
}

void Rprop::step_group(size_t group) {
  const RpropOptions& o = options(group);
  data(group).fused_step(UpdateRule::rprop, {{"prev"}, {"step_size", o.lr}}, [&](const Progress&) {
    UpdateNumbers<double> n;
    n.sign = o.maximize ? -1 : 1;
    n.decay = o.etas[0];
    n.momentum = o.etas[1];
    n.eps = o.step_sizes[0];
    n.step_size = o.step_sizes[1];
    return n;
  });
}

StateNames Rprop::state_names(size_t) const { return {.required = {"prev", "step_size"}}; }

}  // namespace aorta::optim
