#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

std::string inplace_repr(bool inplace) { return inplace ? ", inplace=True" : ""; }

}  // namespace

LeakyReLU::LeakyReLU(double negative_slope, bool inplace)
    : negative_slope(negative_slope), inplace(inplace) {}
LeakyReLU::LeakyReLU(Module& owner, const char* name, double negative_slope, bool inplace)
    : Module(owner, name), negative_slope(negative_slope), inplace(inplace) {}
Tensor LeakyReLU::forward(const Tensor& input) const {
  return inplace ? leaky_relu_(input, negative_slope) : leaky_relu(input, negative_slope);
}
std::string LeakyReLU::extra_repr() const {
  return fmt::format("negative_slope={}{}", negative_slope, inplace_repr(inplace));
}

ELU::ELU(double alpha, bool inplace) : alpha(alpha), inplace(inplace) {}
ELU::ELU(Module& owner, const char* name, double alpha, bool inplace)
    : Module(owner, name), alpha(alpha), inplace(inplace) {}
Tensor ELU::forward(const Tensor& input) const {
  return inplace ? elu_(input, alpha) : elu(input, alpha);
}
std::string ELU::extra_repr() const {
  return fmt::format("alpha={}{}", alpha, inplace_repr(inplace));
}

CELU::CELU(double alpha, bool inplace) : alpha(alpha), inplace(inplace) {}
CELU::CELU(Module& owner, const char* name, double alpha, bool inplace)
    : Module(owner, name), alpha(alpha), inplace(inplace) {}
Tensor CELU::forward(const Tensor& input) const {
  return inplace ? celu_(input, alpha) : celu(input, alpha);
}
std::string CELU::extra_repr() const {
  return fmt::format("alpha={}{}", alpha, inplace_repr(inplace));
}

GELU::GELU(GeluApproximation approximate) : approximate(approximate) {}
GELU::GELU(Module& owner, const char* name, GeluApproximation approximate)
    : Module(owner, name), approximate(approximate) {}
Tensor GELU::forward(const Tensor& input) const { return gelu(input, approximate); }
std::string GELU::extra_repr() const {
  return approximate == GeluApproximation::none ? "approximate='none'" : "approximate='tanh'";
}

Hardtanh::Hardtanh(double min_val, double max_val, bool inplace)
    : min_val(min_val), max_val(max_val), inplace(inplace) {
  check(min_val < max_val, "Hardtanh", "max_val must be larger than min_val", max_val, " for ",
        min_val);
}
Hardtanh::Hardtanh(Module& owner, const char* name, double min_val, double max_val, bool inplace)
    : Hardtanh(min_val, max_val, inplace) {
  join(owner, name);
}
Tensor Hardtanh::forward(const Tensor& input) const {
  return inplace ? hardtanh_(input, min_val, max_val) : hardtanh(input, min_val, max_val);
}
std::string Hardtanh::extra_repr() const {
  return fmt::format("min_val={}, max_val={}{}", min_val, max_val, inplace_repr(inplace));
}

Hardshrink::Hardshrink(double lambda) : lambda(lambda) {}
Hardshrink::Hardshrink(Module& owner, const char* name, double lambda)
    : Module(owner, name), lambda(lambda) {}
Tensor Hardshrink::forward(const Tensor& input) const { return hardshrink(input, lambda); }
std::string Hardshrink::extra_repr() const { return repr(lambda); }

Softshrink::Softshrink(double lambda) : lambda(lambda) {}
Softshrink::Softshrink(Module& owner, const char* name, double lambda)
    : Module(owner, name), lambda(lambda) {}
Tensor Softshrink::forward(const Tensor& input) const { return softshrink(input, lambda); }
std::string Softshrink::extra_repr() const { return repr(lambda); }

Softplus::Softplus(double beta, double threshold) : beta(beta), threshold(threshold) {}
Softplus::Softplus(Module& owner, const char* name, double beta, double threshold)
    : Module(owner, name), beta(beta), threshold(threshold) {}
Tensor Softplus::forward(const Tensor& input) const { return softplus(input, beta, threshold); }
std::string Softplus::extra_repr() const {
  return fmt::format("beta={}, threshold={}", beta, threshold);
}

Threshold::Threshold(double threshold, double value, bool inplace)
    : threshold(threshold), value(value), inplace(inplace) {}
Threshold::Threshold(Module& owner, const char* name, double threshold, double value, bool inplace)
    : Module(owner, name), threshold(threshold), value(value), inplace(inplace) {}
Tensor Threshold::forward(const Tensor& input) const {
  return inplace ? threshold_(input, threshold, value) : aorta::threshold(input, threshold, value);
}
std::string Threshold::extra_repr() const {
  return fmt::format("threshold={}, value={}{}", threshold, value, inplace_repr(inplace));
}

PReLU::PReLU(const PReLUOptions& options)
    : init(options.init), weight(*this, "weight", full({options.num_parameters}, options.init)) {}
PReLU::PReLU(Module& owner, const char* name, const PReLUOptions& options) : PReLU(options) {
  join(owner, name);
}
void PReLU::reset_parameters() { init::constant_(weight, init); }
Tensor PReLU::forward(const Tensor& input) const {
  check_given({{"input", input}});
  check(weight.numel() == 1 || (input.dim() >= 2 && input.size(1) == weight.numel()), "PReLU",
        "input must have a channel for each weight", input.shape(), " for ", weight.numel());
  return prelu(input, weight);
}
std::string PReLU::extra_repr() const { return fmt::format("num_parameters={}", weight.numel()); }

Tensor rrelu(const Tensor& input, double lower, double upper, bool training) {
  const CalledOp called("rrelu");
  check_defined("rrelu", {{"input", input}});
  check(lower <= upper, "rrelu", "lower must be at most upper", lower, " and ", upper);
  if (!training) return leaky_relu(input, (lower + upper) / 2);
  const Tensor slope = empty_like(input.detach());
  uniform_(slope, lower, upper);
  return where(le(input, 0), input * slope, input);
}

Tensor rrelu_(const Tensor& input, double lower, double upper, bool training) {
  const CalledOp called("rrelu_");
  check_defined("rrelu_", {{"input", input}});
  check(lower <= upper, "rrelu_", "lower must be at most upper", lower, " and ", upper);
  if (!training) return leaky_relu_(input, (lower + upper) / 2);
  const Tensor slope = empty_like(input.detach());
  uniform_(slope, lower, upper);
  return mul_(input, where(le(input.detach(), 0), slope, 1));
}

RReLU::RReLU(double lower, double upper) : lower(lower), upper(upper) {}
RReLU::RReLU(Module& owner, const char* name, double lower, double upper)
    : Module(owner, name), lower(lower), upper(upper) {}
Tensor RReLU::forward(const Tensor& input) const {
  return rrelu(input, lower, upper, is_training());
}
std::string RReLU::extra_repr() const { return fmt::format("lower={}, upper={}", lower, upper); }

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t dim) {
  const CalledOp called("gumbel_softmax");
  check_defined("gumbel_softmax", {{"logits", logits}});
  check(is_floating(logits.dtype()), "gumbel_softmax", "dtype must be floating", logits.dtype());
  check(tau > 0, "gumbel_softmax", "tau must be positive", tau);
  const bool wide = logits.dtype() == DType::f64;
  const Tensor waits =
      empty(logits.shape(), {.dtype = wide ? DType::f64 : DType::f32, .device = logits.device()});
  const Tensor gumbels = neg(log(exponential_(waits))).to(logits.dtype());
  const Tensor soft = softmax((logits + gumbels) / tau, dim);
  if (!hard) return soft;
  const Tensor places = argmax(soft.detach(), dim, true);
  const Tensor one = scatter(zeros_like(soft.detach()), dim, places, 1);
  return one + (soft - soft.detach());
}

Tensor glu(const Tensor& input, int64_t dim) {
  const CalledOp called("glu");
  check_defined("glu", {{"input", input}});
  aorta::check_floating("glu", input.dtype());
  check(input.dim() > 0, "glu", "input must have a dimension to halve", input.shape());
  const int at = wrap_dim("glu", dim, input.dim());
  const int64_t size = input.size(at);
  check(size % 2 == 0, "glu", "the halved dimension must be even", size);
  const Tensor x = input.to(compute_dtype(input.dtype()));  // rounded once
  const Tensor gated = x.narrow(at, 0, size / 2) * sigmoid(x.narrow(at, size / 2, size / 2));
  return gated.to(input.dtype());
}

GLU::GLU(int64_t dim) : dim(dim) {}
GLU::GLU(Module& owner, const char* name, int64_t dim) : Module(owner, name), dim(dim) {}
Tensor GLU::forward(const Tensor& input) const { return glu(input, dim); }
std::string GLU::extra_repr() const { return fmt::format("dim={}", dim); }

Softmax::Softmax(int64_t dim) : dim(dim) {}
Softmax::Softmax(Module& owner, const char* name, int64_t dim) : Module(owner, name), dim(dim) {}
Tensor Softmax::forward(const Tensor& input) const { return softmax(input, dim); }
std::string Softmax::extra_repr() const { return fmt::format("dim={}", dim); }

Softmin::Softmin(int64_t dim) : dim(dim) {}
Softmin::Softmin(Module& owner, const char* name, int64_t dim) : Module(owner, name), dim(dim) {}
Tensor Softmin::forward(const Tensor& input) const { return softmin(input, dim); }
std::string Softmin::extra_repr() const { return fmt::format("dim={}", dim); }

LogSoftmax::LogSoftmax(int64_t dim) : dim(dim) {}
LogSoftmax::LogSoftmax(Module& owner, const char* name, int64_t dim)
    : Module(owner, name), dim(dim) {}
Tensor LogSoftmax::forward(const Tensor& input) const { return log_softmax(input, dim); }
std::string LogSoftmax::extra_repr() const { return fmt::format("dim={}", dim); }

Tensor Softmax2d::forward(const Tensor& input) const {
  check_given({{"input", input}});
  check(input.dim() == 3 || input.dim() == 4, "Softmax2d",
        "input must be (N, C, H, W) or (C, H, W)", input.shape());
  return softmax(input, -3);
}

}  // namespace aorta::nn
