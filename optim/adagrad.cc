#include <aorta/optim/adagrad.h>

#include <aorta/optim/group.h>

namespace aorta::optim {

namespace {
constexpr const char* kAdagrad = "adagrad";
}  // namespace

void AdagradOptions::complete() {
  if (dialect == Dialect::paper && !eps.is_named()) eps = Default(1e-8);
}

void AdagradOptions::check() const {
  aorta::check(lr >= 0, kAdagrad, "lr must be at least 0", lr);
  aorta::check(lr_decay >= 0, kAdagrad, "lr_decay must be at least 0", lr_decay);
  aorta::check(weight_decay >= 0, kAdagrad, "weight_decay must be at least 0", weight_decay);
  aorta::check(initial_accumulator_value >= 0, kAdagrad,
               "initial_accumulator_value must be at least 0", initial_accumulator_value);
  aorta::check(eps >= 0, kAdagrad, "eps must be at least 0", eps);
}

GradientKinds Adagrad::gradient_kinds(size_t group) const {
  return options(group).weight_decay == 0 ? GradientKinds::any : GradientKinds::dense;
}

void Adagrad::step_group(size_t group) {
  const AdagradOptions& o = options(group);
  const UpdateRule rule =
      o.dialect == Dialect::paper ? UpdateRule::paper_adagrad : UpdateRule::adagrad;
  data(group).fused_step(
      rule, {{"sum", o.initial_accumulator_value}}, [&](const Progress& progress) {
        UpdateNumbers<double> n;
        n.sign = o.maximize ? -1 : 1;
        n.weight_decay = o.weight_decay;
        n.step_size = o.lr / (1 + static_cast<double>(progress.step - 1) * o.lr_decay);
        n.eps = o.eps;
        return n;
      });
}

StateNames Adagrad::state_names(size_t) const { return {.required = {"sum"}}; }

}  // namespace aorta::optim
