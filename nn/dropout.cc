#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/nn/dropout.h>

#include <fmt/format.h>
#include <cmath>

namespace aorta::nn {
namespace {

double probability(const char* layer, double p) {
  check(p >= 0 && p <= 1, layer, "p must be in [0, 1]", p);
  return p;
}

// `shape` is that of the mask, which broadcasts to the input's.
Tensor drop_to_lower_end(const char* op, const Tensor& input, double p, bool training,
                         const Shape& shape) {
  probability(op, p);
  check(is_floating(input.dtype()), op, "input must be floating", input.dtype());
  if (!training || p == 0) return input;
  if (p == 1) return input * 0;
  constexpr double kLowerEnd = 1.7580993408473766;  // SELU's scale times its alpha
  const double a = 1 / std::sqrt((kLowerEnd * kLowerEnd * p + 1) * (1 - p));
  const TensorOptions options{.dtype = input.dtype(), .device = input.device()};
  const Tensor kept = gt(dropout(ones(shape, options), p), 0).to(input.dtype());
  return input * kept * a + (kept - (1 - p)) * (kLowerEnd * a);
}

}  // namespace

Tensor alpha_dropout(const Tensor& input, double p, bool training) {
  const CalledOp called("alpha_dropout");
  check_defined("alpha_dropout", {{"input", input}});
  return drop_to_lower_end("alpha_dropout", input, p, training, input.shape());
}

Tensor feature_alpha_dropout(const Tensor& input, double p, bool training) {
  const CalledOp called("feature_alpha_dropout");
  check_defined("feature_alpha_dropout", {{"input", input}});
  check(input.dim() >= 2, "feature_alpha_dropout", "input must be (N, C, *)", input.shape());
  Shape channels = Dims::filled(input.dim(), 1);
  channels[0] = input.size(0);
  channels[1] = input.size(1);
  return drop_to_lower_end("feature_alpha_dropout", input, p, training, channels);
}

Dropout::Dropout(const DropoutOptions& options) : options(options) {
  probability("Dropout", options.p);
}

Dropout::Dropout(Module& owner, const char* name, const DropoutOptions& options)
    : Dropout(options) {
  join(owner, name);
}

Tensor Dropout::forward(const Tensor& input) const {
  return options.inplace ? dropout_(input, options.p, is_training())
                         : dropout(input, options.p, is_training());
}

std::string Dropout::extra_repr() const {
  return fmt::format("p={}, inplace={}", options.p, options.inplace ? "True" : "False");
}

ChannelDropout::ChannelDropout(int dims, double probability_of_zero)
    : spatial(dims), p(probability("ChannelDropout", probability_of_zero)) {}

Tensor ChannelDropout::forward(const Tensor& input) const {
  constexpr decltype(&dropout2d) kOps[] = {dropout1d, dropout2d, dropout3d};
  return kOps[spatial - 1](input, p, is_training(), nullptr);
}

std::string ChannelDropout::type_name() const { return fmt::format("Dropout{}d", spatial); }

std::string ChannelDropout::extra_repr() const { return fmt::format("p={}", p); }

AlphaDropout::AlphaDropout(double p) : p(probability("AlphaDropout", p)) {}
AlphaDropout::AlphaDropout(Module& owner, const char* name, double p) : AlphaDropout(p) {
  join(owner, name);
}
Tensor AlphaDropout::forward(const Tensor& input) const {
  return alpha_dropout(input, p, is_training());
}
std::string AlphaDropout::extra_repr() const { return fmt::format("p={}", p); }

FeatureAlphaDropout::FeatureAlphaDropout(double p) : p(probability("FeatureAlphaDropout", p)) {}
FeatureAlphaDropout::FeatureAlphaDropout(Module& owner, const char* name, double p)
    : FeatureAlphaDropout(p) {
  join(owner, name);
}
Tensor FeatureAlphaDropout::forward(const Tensor& input) const {
  return feature_alpha_dropout(input, p, is_training());
}
std::string FeatureAlphaDropout::extra_repr() const { return fmt::format("p={}", p); }

}  // namespace aorta::nn
