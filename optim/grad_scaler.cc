#include <aorta/optim/grad_scaler.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/recording.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/multi_tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::optim {
namespace {

constexpr const char* kOp = "grad_scaler";

// As the f32 that it becomes.
void check_scale(double scale) {
  const auto rounded = static_cast<float>(scale);
  check(rounded > 0 && std::isfinite(rounded), kOp, "the scale must be positive and finite", scale);
}

void check_options(const GradScalerOptions& o) {
  check_scale(o.init_scale);
  check(o.growth_factor > 1 && std::isfinite(o.growth_factor), kOp, "growth_factor must be above 1",
        o.growth_factor);
  check(o.backoff_factor > 0 && o.backoff_factor < 1, kOp, "backoff_factor must be in (0, 1)",
        o.backoff_factor);
  check(o.growth_interval >= 1, kOp, "growth_interval must be positive", o.growth_interval);
}

std::vector<Tensor> gradients_of(const Optimizer& optimizer) {
  std::vector<Tensor> gradients;
  for (size_t group = 0; group < optimizer.group_count(); ++group) {
    for (const Tensor& parameter : optimizer.parameters(group)) {
      if (const auto sparse = autograd::sparse_grad(parameter)) {
        const autograd::SparseGradient rows = sparse->coalesce();
        autograd::set_sparse_grad(parameter, rows);
        gradients.push_back(rows.values.detach());
      } else if (parameter.grad().defined()) {
        gradients.push_back(parameter.grad().detach());
      } else {
        continue;
      }
      check(parameter.dtype() != DType::f16, kOp,
            "parameters must not be f16 (autocast leaves them f32)", parameter.shape());
    }
  }
  return gradients;
}

// The groups that have parameters together.
std::vector<Communicator*> groups_of(const Optimizer& optimizer) {
  std::vector<Communicator*> groups;
  for (size_t i = 0; i < optimizer.group_count(); ++i) {
    for (const Tensor& parameter : optimizer.parameters(i)) {
      const autograd::Shard* const shard = autograd::shard_of(parameter);
      if (!shard) continue;
      for (Communicator* const group : shard->groups())
        if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
  }
  return groups;
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options) : options_(options) {
  check_options(options);
  scale_ = full({}, options.init_scale, {.dtype = DType::f32});
  growth_tracker_ = zeros({}, {.dtype = DType::i64});
}

// It stays where it is for what has no values.
Tensor GradScaler::scale_on(Device device) {
  if (scale_.device() != device && device.type != DeviceType::meta) {
    scale_ = scale_.to(device);
    growth_tracker_ = growth_tracker_.to(device);
  }
  return scale_.to(device);
}

Tensor GradScaler::scale(const Tensor& loss) {
  check_defined(kOp, {{"loss", loss}});
  if (!options_.enabled) return loss;
  // A loss of a half type has no room for the scale.
  return (loss.dim() == 0 ? loss.to(compute_dtype(loss.dtype())) : loss) * scale_on(loss.device());
}

GradScaler::Stage& GradScaler::unscaled(Optimizer& optimizer) {
  const NoGradGuard no_grad;
  const std::vector<Tensor> gradients = gradients_of(optimizer);
  check(!gradients.empty(), kOp, "there must be a gradient", "none");
  Stage stage;
  std::vector<Tensor> filled;
  for (const Tensor& gradient : gradients)
    if (gradient.numel() > 0) filled.push_back(gradient);
  stage.largest = get_total_norm(filled, std::numeric_limits<double>::infinity());
  // Where one rank leaves the step out, all do.
  for (Communicator* const group : groups_of(optimizer)) {
    const Device device = optimizer.parameters()[0].device();
    const Tensor mine = stage.largest.to(ToOptions{.dtype = DType::f64, .device = device});
    stage.largest = max(group->all_gather(mine));
  }
  scale_all(reciprocal(scale_.to(DType::f64)), gradients);
  if (kernel::Recording* const recording = kernel::Recording::current()) {
    recording->on_failure([stages = std::weak_ptr<Stages>(stages_)] {
      if (const auto known = stages.lock()) known->clear();
    });
  }
  return (*stages_)[&optimizer] = stage;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (!options_.enabled) return;
  const auto known = stages_->find(&optimizer);
  if (known != stages_->end())
    check(false, kOp, "unscale_ comes once between updates, and before step",
          known->second.stepped ? "one after step" : "a second one");
  unscaled(optimizer);
}

bool GradScaler::step(Optimizer& optimizer) {
  if (!options_.enabled) {
    optimizer.step();
    return true;
  }
  const auto known = stages_->find(&optimizer);
  Stage& stage = known == stages_->end() ? unscaled(optimizer) : known->second;
  check(!stage.stepped, kOp, "step comes once between updates", "a second one");
  bool steps = true;
  if (kernel::Recording::current()) {
    optimizer.step_if_finite(stage.largest);
  } else {
    steps = std::isfinite(stage.largest.item<double>());
    steps ? optimizer.step() : optimizer.skip_step();
  }
  stage.stepped = true;
  return steps;
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!options_.enabled) return;
  if (new_scale) {
    check_scale(*new_scale);
    scale_.fill_(*new_scale);
    stages_->clear();
    return;
  }
  check(!stages_->empty(), kOp, "there must be a step or unscale_ before update", "none");
  Tensor finite = full({}, true, {.dtype = DType::boolean, .device = scale_.device()});
  for (const auto& [optimizer, stage] : *stages_)
    finite = logical_and(finite, isfinite(stage.largest.to(scale_.device())));
  stages_->clear();
  const Tensor in_a_row = growth_tracker_ + 1;
  const Tensor grows = eq(in_a_row, options_.growth_interval);
  const Tensor grown = scale_ * options_.growth_factor;  // not beyond what an f32 can hold
  const Tensor kept = where(logical_and(grows, isfinite(grown)), grown, scale_);
  scale_.copy_(where(finite, kept, scale_ * options_.backoff_factor));
  growth_tracker_.copy_(in_a_row * logical_and(finite, logical_not(grows)));
}

double GradScaler::get_scale() const { return options_.enabled ? scale_.item<double>() : 1; }

State GradScaler::state() const {
  State state;
  state.set("scale", State::Value(scale_.item<double>()));
  state.set("growth_factor", State::Value(options_.growth_factor));
  state.set("backoff_factor", State::Value(options_.backoff_factor));
  state.set("growth_interval", State::Value(options_.growth_interval));
  state.set("growth_tracker", State::Value(growth_tracker_.item<int64_t>()));
  return state;
}

void GradScaler::restore(const State& state) {
  state.check_names(
      {"scale", "growth_factor", "backoff_factor", "growth_interval", "growth_tracker"});
  const GradScalerOptions options{.init_scale = state.get<double>("scale"),
                                  .growth_factor = state.get<double>("growth_factor"),
                                  .backoff_factor = state.get<double>("backoff_factor"),
                                  .growth_interval = state.get<int64_t>("growth_interval"),
                                  .enabled = options_.enabled};
  check_options(options);
  const auto tracker = state.get<int64_t>("growth_tracker");
  check(tracker >= 0 && tracker < options.growth_interval, kOp,
        "growth_tracker must be from 0 to below growth_interval", tracker);
  scale_.fill_(options.init_scale);
  growth_tracker_.fill_(tracker);
  options_ = options;
}

}  // namespace aorta::optim
