#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/recording.h>
#include <aorta/optim/group.h>

#include <cmath>
#include <map>
#include <unordered_set>

namespace aorta::optim {

Slot::Slot(GroupData& group_data, size_t group_index, size_t place)
    : parameter(group_data.parameters[place]),
      gradient(group_data.gradients.back()),
      step(group_data.steps[place] + 1),
      group(group_index),
      data_(group_data),
      place_(place) {}

Tensor Slot::state(const char* name, double initial) {
  StateKind& kind = data_.kind({name, initial});
  kind.present[place_] = 1;
  return data_.state_of(kind, place_);
}

Tensor Slot::state(const char* name, const Shape& shape) {
  StateKind& kind = data_.shaped_kind(name, place_, shape);
  kind.present[place_] = 1;
  return data_.state_of(kind, place_);
}

double& Slot::value(const char* name, double initial) {
  double& value = data_.value(name)[place_];
  if (std::isnan(value)) value = initial;
  return value;
}

Optimizer::Optimizer() : lifetime_(std::make_shared<char>()) {}
Optimizer::~Optimizer() = default;

void Optimizer::add_group(List<Tensor> parameters) {
  check_at_rest("add_param_group");
  std::unordered_set<const TensorImpl*> known;
  size_t position = 0;
  for (const auto& group : groups_) {
    for (const Tensor& parameter : group->parameters) known.insert(&parameter.impl());
    position += group->parameters.size();
  }
  auto group = std::make_unique<GroupData>(std::move(parameters));
  group->first_position = position;
  for (size_t i = 0; i < group->parameters.size(); ++i) {
    check(known.insert(&group->parameters[i].impl()).second, "optimizer",
          "a parameter must be given once", "parameter ", position + i, " again, of shape ",
          group->parameters[i].shape());
  }
  groups_.push_back(std::move(group));
}

void Optimizer::step() { take_step(Tensor()); }

void Optimizer::step_if_finite(const Tensor& loss) {
  check_defined("optimizer", {{"loss", loss}});
  check(loss.numel() == 1, "optimizer", "the loss must be one number", loss.shape());
  check(is_floating(loss.dtype()), "optimizer", "the loss must be of a float dtype", loss.dtype());
  take_step(loss.detach().to(DType::f64));
}

void Optimizer::skip_step() {
  struct Before {
    std::vector<int64_t> steps;
    std::map<std::string, std::vector<double>> values;
    std::map<std::string, std::vector<char>> present;
  };
  std::vector<Before> before;
  for (const auto& group : groups_) {
    before.push_back({group->steps, group->values, {}});
    for (const auto& kind : group->kinds) before.back().present[kind->name] = kind->present;
  }
  take_step(full({}, std::nan(""), {.dtype = DType::f64}));
  for (size_t g = 0; g < groups_.size(); ++g) {
    GroupData& group = *groups_[g];
    group.steps = before[g].steps;
    group.values = before[g].values;
    for (const auto& kind : group.kinds) {
      kind->present = before[g].present[kind->name];
      kind->present.resize(group.parameters.size());
    }
  }
}

void Optimizer::take_step(const Tensor& must_be_finite) {
  const ProfilerRange range("optimizer step");
  kernel::Recording* const recording = kernel::Recording::current();
  if (!recording) return step_groups(nullptr, must_be_finite);
  auto runs = std::make_shared<CapturedRuns>();
  recording->before_launch([this, runs, lifetime = std::weak_ptr<const void>(lifetime_)] {
    check(!lifetime.expired(), "optimizer",
          "an optimizer must live as long as the captured step that it is in", "one that is gone");
    runs->next = 0;
    runs->renews = true;
    step_groups(runs.get(), Tensor());
    check(runs->next == runs->runs.size(), "optimizer",
          "rule and parameters must be those that the captured step had", "fewer");
  });
  for (const auto& group : groups_) {
    recording->on_failure([kept = group.get(), lifetime = std::weak_ptr<const void>(lifetime_),
                           steps = group->steps, values = group->values] {
      if (lifetime.expired()) return;
      kept->steps = steps;
      kept->values = values;
    });
  }
  step_groups(runs.get(), must_be_finite);
}

void Optimizer::step_groups(CapturedRuns* captured, const Tensor& must_be_finite) {
  const NoGradGuard no_grad;
  const auto tell_groups = [&](CapturedRuns* runs, const Tensor& gate) {
    for (const auto& group : groups_) {
      group->captured = runs;
      group->must_be_finite = gate;
    }
  };
  for (size_t g = 0; g < groups_.size(); ++g) {
    check_options(g);
    check_gradients(g);
  }
  tell_groups(captured, must_be_finite);
  try {
    for (size_t g = 0; g < groups_.size(); ++g) step_group(g);
  } catch (...) {
    tell_groups(nullptr, Tensor());
    throw;
  }
  tell_groups(nullptr, Tensor());
}

void Optimizer::check_gradients(size_t g) const {
  const GradientKinds kinds = gradient_kinds(g);
  if (kinds == GradientKinds::any) return;
  for (const Tensor& parameter : groups_[g]->parameters) {
    const bool sparse = autograd::sparse_grad(parameter).has_value();
    check(!sparse || kinds == GradientKinds::sparse, "optimizer",
          "the rule takes no sparse gradients: SparseAdam does, and SGD and Adagrad without "
          "momentum and weight decay",
          "one of ", parameter.shape());
    check(sparse || kinds == GradientKinds::dense || !parameter.grad().defined(), "optimizer",
          "the rule takes no dense gradients: Adam does", "one of ", parameter.shape());
  }
}

Tensor Optimizer::step(const std::function<Tensor()>& closure) {
  check(bool(closure), "optimizer", "the closure must be a function", "an empty one");
  look_ahead();
  Tensor loss;
  try {
    const EnableGradGuard recording;
    loss = closure();
  } catch (...) {
    look_back();
    throw;
  }
  step();
  return loss;
}

void Optimizer::each_slot(size_t g, void (*update)(Optimizer& self, Slot& slot)) {
  kernel::refuse_in_capture("optimizer", "a captured step takes an optimizer with a fused rule",
                            "one that is written with tensor ops");
  GroupData& group = data(g);
  const Tensor& gate = group.must_be_finite;
  if (gate.defined() && !std::isfinite(gate.item<double>())) return;
  group.follow_parameters();
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    auto sparse = autograd::sparse_grad(group.parameters[i]);
    const Tensor gradient = sparse ? Tensor() : group.parameters[i].grad();
    if (!sparse && !gradient.defined()) continue;
    group.gradients.assign(
        1, gradient.defined() && gradient.requires_grad() ? gradient.detach() : gradient);
    Slot slot(group, g, i);
    if (sparse) slot.sparse_gradient = sparse->coalesce();
    group.gradients.clear();
    update(*this, slot);
    ++group.steps[i];
  }
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const auto& group : groups_) {
    for (const Tensor& parameter : group->parameters) autograd::zero_grad(parameter, set_to_none);
  }
}

void Optimizer::check_group(size_t group) const {
  check(group < groups_.size(), "optimizer", "the group must exist", group, " of ", groups_.size());
}

const std::vector<Tensor>& Optimizer::parameters(size_t group) const {
  check_group(group);
  return groups_[group]->parameters;
}

Fields Optimizer::fields(size_t group) const {
  check_group(group);
  Fields fields;
  list_fields(group, fields);
  return fields;
}

double Optimizer::lr(size_t group) const {
  const double* lr = fields(group).find<double>("lr");
  return lr ? *lr : 1;
}

void Optimizer::set_lr(double lr, size_t group) {
  double* place = fields(group).find<double>("lr");
  check(place, "optimizer", "the rule must have a learning rate to set", lr);
  *place = lr;
}

std::optional<double>& Optimizer::initial_lr(size_t group) {
  check_group(group);
  return groups_[group]->initial_lr;
}

}  // namespace aorta::optim
