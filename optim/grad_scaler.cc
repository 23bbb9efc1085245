#include <aorta/optim/grad_scaler.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/multi_tensor.h>

#include <cmath>
#include <limits>

namespace aorta::optim {
namespace {

constexpr const char* kOp = "grad_scaler";

void check_options(const GradScalerOptions& o) {
  check(o.init_scale > 0 && std::isfinite(o.init_scale), kOp,
        "the scale must be positive and finite", o.init_scale);
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

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options), scale_(options.init_scale) {
  check_options(options);
}

Tensor GradScaler::scale(const Tensor& loss) const {
  check_defined(kOp, {{"loss", loss}});
  if (!options_.enabled) return loss;
  // A loss of a half type has no room for the scale.
  return (loss.dim() == 0 ? loss.to(compute_dtype(loss.dtype())) : loss) * scale_;
}

bool GradScaler::Stage::finite() const { return std::isfinite(largest.item<double>()); }

GradScaler::Stage& GradScaler::unscaled(Optimizer& optimizer) {
  const NoGradGuard no_grad;
  const std::vector<Tensor> gradients = gradients_of(optimizer);
  check(!gradients.empty(), kOp, "there must be a gradient", "none");
  Stage stage;
  std::vector<Tensor> filled;
  for (const Tensor& gradient : gradients)
    if (gradient.numel() > 0) filled.push_back(gradient);
  stage.largest = get_total_norm(filled, std::numeric_limits<double>::infinity());
  UpdateNumbers<double> numbers;
  numbers.shrink = 1 / scale_;
  update_all(UpdateRule::scale, numbers, gradients);
  return stages_[&optimizer] = stage;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (!options_.enabled) return;
  const auto known = stages_.find(&optimizer);
  if (known != stages_.end())
    check(false, kOp, "unscale_ comes once between updates, and before step",
          known->second.stepped ? "one after step" : "a second one");
  unscaled(optimizer);
}

bool GradScaler::step(Optimizer& optimizer) {
  if (!options_.enabled) {
    optimizer.step();
    return true;
  }
  const auto known = stages_.find(&optimizer);
  Stage& stage = known == stages_.end() ? unscaled(optimizer) : known->second;
  check(!stage.stepped, kOp, "step comes once between updates", "a second one");
  stage.largest = stage.largest.cpu();  // update() asks again
  const bool finite = stage.finite();
  if (finite) optimizer.step();
  stage.stepped = true;
  return finite;
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!options_.enabled) return;
  if (new_scale) {
    check(*new_scale > 0 && std::isfinite(*new_scale), kOp, "the scale must be positive and finite",
          *new_scale);
    scale_ = *new_scale;
    stages_.clear();
    return;
  }
  check(!stages_.empty(), kOp, "there must be a step or unscale_ before update", "none");
  bool finite = true;
  for (const auto& [optimizer, stage] : stages_) finite = finite && stage.finite();
  stages_.clear();
  if (!finite) {
    scale_ *= options_.backoff_factor;
    growth_tracker_ = 0;
  } else if (++growth_tracker_ == options_.growth_interval) {
    // Not beyond what an f32 loss can be multiplied with.
    const double grown = scale_ * options_.growth_factor;
    if (grown <= static_cast<double>(std::numeric_limits<float>::max())) scale_ = grown;
    growth_tracker_ = 0;
  }
}

State GradScaler::state() const {
  State state;
  state.set("scale", State::Value(scale_));
  state.set("growth_factor", State::Value(options_.growth_factor));
  state.set("backoff_factor", State::Value(options_.backoff_factor));
  state.set("growth_interval", State::Value(options_.growth_interval));
  state.set("growth_tracker", State::Value(growth_tracker_));
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
  scale_ = options.init_scale;
  growth_tracker_ = tracker;
  options_ = options;
  options_.init_scale = scale_;
}

}  // namespace aorta::optim
