#include <aorta/autograd/grad_mode.h>
#include <aorta/core/called_op.h>
#include <aorta/core/comm.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/nn/init.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/parallel/sync_batch_norm.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

Tensor ones_if(bool wanted, const Shape& shape) { return wanted ? ones(shape) : Tensor(); }
Tensor zeros_if(bool wanted, const Shape& shape) { return wanted ? zeros(shape) : Tensor(); }
Tensor counter_if(bool wanted) { return wanted ? zeros({}, {.dtype = DType::i64}) : Tensor(); }

// Gives a BatchNorm or InstanceNorm its first running statistics.
template <class Norm>
void reset_statistics(Norm& norm) {
  if (!norm.running_mean.defined()) return;
  const NoGradGuard no_grad;
  norm.running_mean.zero_();
  norm.running_var.fill_(1);
  norm.num_batches_tracked.zero_();
}

void reset_affine(const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

int64_t positive(const std::string& name, int64_t features) {
  check(features > 0, name, "num_features must be positive", features);
  return features;
}

}  // namespace

BatchNorm::BatchNorm(int dims, int64_t features, const BatchNormOptions& options)
    : spatial(dims),
      num_features(positive(layer_name("BatchNorm", dims), features)),
      options(options),
      weight(*this, "weight", ones_if(options.affine, {features})),
      bias(*this, "bias", zeros_if(options.affine && options.bias, {features})),
      running_mean(*this, "running_mean", zeros_if(options.track_running_stats, {features})),
      running_var(*this, "running_var", ones_if(options.track_running_stats, {features})),
      num_batches_tracked(*this, "num_batches_tracked", counter_if(options.track_running_stats),
                          Buffer::Kind::optional) {}

Tensor BatchNorm::forward(const Tensor& input) const { return compute(input, options.relu); }

Tensor BatchNorm::add_relu(const Tensor& input, const Tensor& residual) const {
  return call({input, residual},
              [this](const std::vector<Tensor>& inputs) {
                return std::vector<Tensor>{
                    compute(inputs.at(0), true, inputs.at(1).to(inputs.at(0).dtype()))};
              })
      .at(0);
}

Tensor BatchNorm::compute(const Tensor& input, bool relu, const Tensor& residual) const {
  check_given({{"input", input}});
  const bool fits =
      spatial == 1 ? input.dim() == 2 || input.dim() == 3 : input.dim() == spatial + 2;
  if (!fits) {
    fail(type_name(),
         spatial == 1   ? "input must be (N, C) or (N, C, L)"
         : spatial == 2 ? "input must be (N, C, H, W)"
                        : "input must be (N, C, D, H, W)",
         input.shape());
  }
  Communicator* const group = synchronized && is_training() ? current_communicator() : nullptr;
  const bool together = group && group->size() > 1;
  const bool use_batch = is_training() || !running_mean.defined();
  const bool counts = is_training() && num_batches_tracked.defined();
  check(!counts || options.momentum || statistic_groups == 1, type_name(),
        "statistic_groups need a momentum", statistic_groups);
  // What the op doesn't count: an average of all batches is weighted by their number.
  const bool counts_here = counts && (together || !options.momentum);
  double momentum = options.momentum.value_or(0);
  if (counts && !options.momentum && !num_batches_tracked.is_meta())
    momentum = 1.0 / (num_batches_tracked.item<double>() + 1);
  Tensor output, counter;
  if (counts && !counts_here) counter = num_batches_tracked;
  if (together) {
    check(statistic_groups == 1, type_name(), "synchronized statistics have one group",
          statistic_groups);
    check(input.size(1) == num_features, type_name(), "input must have num_features channels",
          input.shape(), " for ", num_features);
    output = sync_batch_norm(
        input, running_mean, running_var, weight, bias,
        {.momentum = momentum, .eps = options.eps, .relu = relu, .residual = residual}, *group);
  } else {
    output = batch_norm(input, running_mean, running_var, weight, bias,
                        {.training = use_batch,
                         .momentum = momentum,
                         .eps = options.eps,
                         .statistic_groups = use_batch ? statistic_groups : 1,
                         .relu = relu,
                         .residual = residual,
                         .num_batches_tracked = counter});
  }
  if (counts_here) {  // a call that was refused doesn't count
    const NoGradGuard no_grad;
    add_(num_batches_tracked, statistic_groups);
  }
  return output;
}

void BatchNorm::reset_running_stats() { reset_statistics(*this); }

void BatchNorm::reset_parameters() {
  reset_statistics(*this);
  reset_affine(weight, bias);
}

std::string BatchNorm::type_name() const { return layer_name("BatchNorm", spatial); }

std::string BatchNorm::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}{}",
                     num_features, options.eps, options.momentum ? repr(*options.momentum) : "None",
                     repr(options.affine), repr(bias.defined()), repr(options.track_running_stats),
                     options.relu ? ", relu=True" : "");
}

void set_statistic_groups(Module& module, int64_t groups) {
  check(groups > 0, "set_statistic_groups", "groups must be positive", groups);
  module.apply([groups](Module& inner) {
    if (auto* norm = dynamic_cast<BatchNorm*>(&inner)) norm->statistic_groups = groups;
  });
}

void convert_sync_batchnorm(Module& module) {
  module.apply([](Module& inner) {
    if (auto* norm = dynamic_cast<BatchNorm*>(&inner)) norm->synchronized = true;
  });
}

namespace {

// Averages instead of moving ones, and training, as long as it lives.
class PlainAverages {
 public:
  explicit PlainAverages(Module& module) : module_(module), was_training_(module.is_training()) {
    for (const auto& [name, inner] : module.named_modules()) {
      auto* const norm = dynamic_cast<BatchNorm*>(inner);
      if (!norm || !norm->running_mean.defined()) continue;
      norms_.push_back({norm, norm->options.momentum, norm->statistic_groups});
      norm->reset_running_stats();
      norm->options.momentum.reset();
      norm->statistic_groups = 1;
    }
    if (!norms_.empty()) module.train();
  }
  ~PlainAverages() {
    if (norms_.empty()) return;
    for (const Kept& kept : norms_) {
      kept.norm->options.momentum = kept.momentum;
      kept.norm->statistic_groups = kept.groups;
    }
    module_.train(was_training_);
  }
  PlainAverages(const PlainAverages&) = delete;
  PlainAverages& operator=(const PlainAverages&) = delete;
  bool empty() const { return norms_.empty(); }

 private:
  struct Kept {
    BatchNorm* norm;
    std::optional<double> momentum;
    int64_t groups;
  };
  Module& module_;
  bool was_training_;
  std::vector<Kept> norms_;
};

}  // namespace

void update_bn(Module& module, const std::function<void()>& calls) {
  check(bool(calls), "update_bn", "there must be a function", "an empty one");
  const PlainAverages averages(module);
  if (averages.empty()) return;
  const NoGradGuard no_grad;
  calls();
}

InstanceNorm::InstanceNorm(int dims, int64_t features, const InstanceNormOptions& options)
    : spatial(dims),
      num_features(positive(layer_name("InstanceNorm", dims), features)),
      options(options),
      weight(*this, "weight", ones_if(options.affine, {features})),
      bias(*this, "bias", zeros_if(options.affine && options.bias, {features})),
      running_mean(*this, "running_mean", zeros_if(options.track_running_stats, {features})),
      running_var(*this, "running_var", ones_if(options.track_running_stats, {features})),
      num_batches_tracked(*this, "num_batches_tracked", counter_if(options.track_running_stats),
                          Buffer::Kind::optional) {}

Tensor InstanceNorm::forward(const Tensor& input) const {
  check_given({{"input", input}});
  const bool unbatched = input.dim() == spatial + 1;
  if (!unbatched && input.dim() != spatial + 2) {
    fail(type_name(), "input must be (N, C, *) or (C, *)", input.shape());
  }
  if (input.size(unbatched ? 0 : 1) != num_features) {
    fail(type_name(), "input must have num_features channels", input.shape(), " for ",
         num_features);
  }
  const bool use_input = is_training() || !running_mean.defined();
  const Tensor output = instance_norm(
      unbatched ? input.unsqueeze(0) : input, running_mean, running_var, weight, bias,
      {.use_input_stats = use_input, .momentum = options.momentum, .eps = options.eps});
  return unbatched ? output.squeeze(0) : output;
}

void InstanceNorm::reset_running_stats() { reset_statistics(*this); }

void InstanceNorm::reset_parameters() {
  reset_statistics(*this);
  reset_affine(weight, bias);
}

std::string InstanceNorm::type_name() const { return layer_name("InstanceNorm", spatial); }

std::string InstanceNorm::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}",
                     num_features, options.eps, options.momentum, repr(options.affine),
                     repr(bias.defined()), repr(options.track_running_stats));
}

LayerNorm::LayerNorm(const Shape& shape, const LayerNormOptions& options)
    : normalized_shape(shape),
      options(options),
      weight(*this, "weight", ones_if(options.elementwise_affine, shape)),
      bias(*this, "bias", zeros_if(options.elementwise_affine && options.bias, shape)) {}

LayerNorm::LayerNorm(Module& owner, const char* name, const Shape& shape,
                     const LayerNormOptions& options)
    : LayerNorm(shape, options) {
  join(owner, name);
}

Tensor LayerNorm::forward(const Tensor& input) const {
  return layer_norm(input, normalized_shape, weight, bias, options.eps);
}

void LayerNorm::reset_parameters() { reset_affine(weight, bias); }

std::string LayerNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}, bias={}", repr(normalized_shape),
                     options.eps, repr(options.elementwise_affine), repr(bias.defined()));
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& options)
    : num_groups(groups),
      num_channels(channels),
      options(options),
      weight(*this, "weight", ones_if(options.affine, {channels})),
      bias(*this, "bias", zeros_if(options.affine && options.bias, {channels})) {
  check(groups > 0 && channels % groups == 0, "GroupNorm",
        "num_channels must be divisible by num_groups", channels, " for ", groups);
}

GroupNorm::GroupNorm(Module& owner, const char* name, int64_t groups, int64_t channels,
                     const GroupNormOptions& options)
    : GroupNorm(groups, channels, options) {
  join(owner, name);
}

Tensor GroupNorm::forward(const Tensor& input) const {
  return group_norm(input, num_groups, weight, bias, options.eps);
}

void GroupNorm::reset_parameters() { reset_affine(weight, bias); }

std::string GroupNorm::extra_repr() const {
  return fmt::format("{}, {}, eps={}, affine={}, bias={}", num_groups, num_channels, options.eps,
                     repr(options.affine), repr(bias.defined()));
}

RMSNorm::RMSNorm(const Shape& shape, const RMSNormOptions& options)
    : normalized_shape(shape),
      options(options),
      weight(*this, "weight", ones_if(options.elementwise_affine, shape)) {}

RMSNorm::RMSNorm(Module& owner, const char* name, const Shape& shape, const RMSNormOptions& options)
    : RMSNorm(shape, options) {
  join(owner, name);
}

Tensor RMSNorm::forward(const Tensor& input) const {
  return rms_norm(input, normalized_shape, weight, options.eps);
}

void RMSNorm::reset_parameters() { reset_affine(weight, {}); }

std::string RMSNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}", repr(normalized_shape),
                     options.eps ? repr(*options.eps) : "None", repr(options.elementwise_affine));
}

Tensor local_response_norm(const Tensor& input, int64_t size,
                           const LocalResponseNormOptions& options) {
  const char* const op = "local_response_norm";
  const CalledOp called(op);
  check_defined(op, {{"input", input}});
  check(size > 0, op, "size must be positive", size);
  check(input.dim() >= 3, op, "input must be (N, C, *)", input.shape());
  if (input.numel() == 0) return input;
  // The channels are the pooled dimension: (N, *, C), with all of * flat.
  const Tensor squares = square(input).flatten(2).transpose(1, 2);
  const Tensor around = pad(squares, {size / 2, (size - 1) / 2});
  const Tensor means = avg_pool1d(around, {size}, AvgPoolOptions{.stride = 1});
  const Tensor divisor = pow(options.k + options.alpha * means, options.beta);
  return input / divisor.transpose(1, 2).reshape(input.shape());
}

LocalResponseNorm::LocalResponseNorm(int64_t size, const LocalResponseNormOptions& options)
    : size(size), options(options) {
  check(size > 0, "LocalResponseNorm", "size must be positive", size);
}
LocalResponseNorm::LocalResponseNorm(Module& owner, const char* name, int64_t size,
                                     const LocalResponseNormOptions& options)
    : LocalResponseNorm(size, options) {
  join(owner, name);
}

Tensor LocalResponseNorm::forward(const Tensor& input) const {
  return local_response_norm(input, size, options);
}

std::string LocalResponseNorm::extra_repr() const {
  return fmt::format("{}, alpha={}, beta={}, k={}", size, options.alpha, options.beta, options.k);
}

}  // namespace aorta::nn
