#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

std::string inplace_repr(bool inplace) { return inplace ? ", inplace=True" : ""; }

}  // namespace

LeakyReLU::LeakyReLU(double slope, bool in_place) : negative_slope(slope), inplace(in_place) {}
LeakyReLU::LeakyReLU(Module& owner, const char* name, double slope, bool in_place)
    : Module(owner, name), negative_slope(slope), inplace(in_place) {}
Tensor LeakyReLU::forward(const Tensor& input) const {
  return inplace ? leaky_relu_(input, negative_slope) : leaky_relu(input, negative_slope);
}
std::string LeakyReLU::extra_repr() const {
  return fmt::format("negative_slope={}{}", negative_slope, inplace_repr(inplace));
}

ELU::ELU(double scale, bool in_place) : alpha(scale), inplace(in_place) {}
ELU::ELU(Module& owner, const char* name, double scale, bool in_place)
    : Module(owner, name), alpha(scale), inplace(in_place) {}
Tensor ELU::forward(const Tensor& input) const {
  return inplace ? elu_(input, alpha) : elu(input, alpha);
}
std::string ELU::extra_repr() const {
  return fmt::format("alpha={}{}", alpha, inplace_repr(inplace));
}

CELU::CELU(double scale, bool in_place) : alpha(scale), inplace(in_place) {}
CELU::CELU(Module& owner, const char* name, double scale, bool in_place)
    : Module(owner, name), alpha(scale), inplace(in_place) {}
Tensor CELU::forward(const Tensor& input) const {
  return inplace ? celu_(input, alpha) : celu(input, alpha);
}
std::string CELU::extra_repr() const {
  return fmt::format("alpha={}{}", alpha, inplace_repr(inplace));
}

GELU::GELU(GeluApproximation by) : approximate(by) {}
GELU::GELU(Module& owner, const char* name, GeluApproximation by)
    : Module(owner, name), approximate(by) {}
Tensor GELU::forward(const Tensor& input) const { return gelu(input, approximate); }
std::string GELU::extra_repr() const {
  return approximate == GeluApproximation::none ? "approximate='none'" : "approximate='tanh'";
}

Hardtanh::Hardtanh(double min, double max, bool in_place)
    : min_val(min), max_val(max), inplace(in_place) {
  check(min < max, "Hardtanh", "max_val must be larger than min_val", max, " for ", min);
}
Hardtanh::Hardtanh(Module& owner, const char* name, double min, double max, bool in_place)
    : Hardtanh(min, max, in_place) {
  join(owner, name);
}
Tensor Hardtanh::forward(const Tensor& input) const {
  return inplace ? hardtanh_(input, min_val, max_val) : hardtanh(input, min_val, max_val);
}
std::string Hardtanh::extra_repr() const {
  return fmt::format("min_val={}, max_val={}{}", min_val, max_val, inplace_repr(inplace));
}

Hardshrink::Hardshrink(double limit) : lambda(limit) {}
Hardshrink::Hardshrink(Module& owner, const char* name, double limit)
    : Module(owner, name), lambda(limit) {}
Tensor Hardshrink::forward(const Tensor& input) const { return hardshrink(input, lambda); }
std::string Hardshrink::extra_repr() const { return repr(lambda); }

Softshrink::Softshrink(double limit) : lambda(limit) {}
Softshrink::Softshrink(Module& owner, const char* name, double limit)
    : Module(owner, name), lambda(limit) {}
Tensor Softshrink::forward(const Tensor& input) const { return softshrink(input, lambda); }
std::string Softshrink::extra_repr() const { return repr(lambda); }

Softplus::Softplus(double steepness, double limit) : beta(steepness), threshold(limit) {}
Softplus::Softplus(Module& owner, const char* name, double steepness, double limit)
    : Module(owner, name), beta(steepness), threshold(limit) {}
Tensor Softplus::forward(const Tensor& input) const { return softplus(input, beta, threshold); }
std::string Softplus::extra_repr() const {
  return fmt::format("beta={}, threshold={}", beta, threshold);
}

Threshold::Threshold(double limit, double otherwise, bool in_place)
    : threshold(limit), value(otherwise), inplace(in_place) {}
Threshold::Threshold(Module& owner, const char* name, double limit, double otherwise, bool in_place)
    : Module(owner, name), threshold(limit), value(otherwise), inplace(in_place) {}
Tensor Threshold::forward(const Tensor& input) const {
  return inplace ? threshold_(input, threshold, value) : aorta::threshold(input, threshold, value);
}
std::string Threshold::extra_repr() const {
  return fmt::format("threshold={}, value={}{}", threshold, value, inplace_repr(inplace));
}

PReLU::PReLU(const PReLUOptions& options)
    : weight(*this, "weight", full({options.num_parameters}, options.init)) {}
PReLU::PReLU(Module& owner, const char* name, const PReLUOptions& options) : PReLU(options) {
  join(owner, name);
}
Tensor PReLU::forward(const Tensor& input) const {
  if (weight.numel() == 1) return prelu(input, weight);
  check(input.dim() >= 2 && input.size(1) == weight.numel(), "PReLU",
        "input must have a channel for each weight", input.shape(), " for ", weight.numel());
  Shape shape = Dims::filled(input.dim(), 1);
  shape[1] = weight.numel();
  return prelu(input, weight.view(shape));
}
std::string PReLU::extra_repr() const { return fmt::format("num_parameters={}", weight.numel()); }

Tensor rrelu(const Tensor& input, double lower, double upper, bool training) {
  check(lower <= upper, "rrelu", "lower must be at most upper", lower, " and ", upper);
  if (!training) return leaky_relu(input, (lower + upper) / 2);
  const Tensor slope = empty_like(input.detach());
  uniform_(slope, lower, upper);
  return where(ge(input, 0), input, input * slope);
}

RReLU::RReLU(double least, double most) : lower(least), upper(most) {}
RReLU::RReLU(Module& owner, const char* name, double least, double most)
    : Module(owner, name), lower(least), upper(most) {}
Tensor RReLU::forward(const Tensor& input) const {
  return rrelu(input, lower, upper, is_training());
}
std::string RReLU::extra_repr() const { return fmt::format("lower={}, upper={}", lower, upper); }

Tensor glu(const Tensor& input, int64_t dim) {
  check(input.dim() > 0, "glu", "input must have a dimension to halve", input.shape());
  const int at = wrap_dim("glu", dim, input.dim());
  const int64_t size = input.size(at);
  check(size % 2 == 0, "glu", "the halved dimension must be even", size);
  return input.narrow(at, 0, size / 2) * sigmoid(input.narrow(at, size / 2, size / 2));
}

GLU::GLU(int64_t halved) : dim(halved) {}
GLU::GLU(Module& owner, const char* name, int64_t halved) : Module(owner, name), dim(halved) {}
Tensor GLU::forward(const Tensor& input) const { return glu(input, dim); }
std::string GLU::extra_repr() const { return fmt::format("dim={}", dim); }

Softmax::Softmax(int64_t along) : dim(along) {}
Softmax::Softmax(Module& owner, const char* name, int64_t along)
    : Module(owner, name), dim(along) {}
Tensor Softmax::forward(const Tensor& input) const { return softmax(input, dim); }
std::string Softmax::extra_repr() const { return fmt::format("dim={}", dim); }

Softmin::Softmin(int64_t along) : dim(along) {}
Softmin::Softmin(Module& owner, const char* name, int64_t along)
    : Module(owner, name), dim(along) {}
Tensor Softmin::forward(const Tensor& input) const { return softmax(-input, dim); }
std::string Softmin::extra_repr() const { return fmt::format("dim={}", dim); }

LogSoftmax::LogSoftmax(int64_t along) : dim(along) {}
LogSoftmax::LogSoftmax(Module& owner, const char* name, int64_t along)
    : Module(owner, name), dim(along) {}
Tensor LogSoftmax::forward(const Tensor& input) const { return log_softmax(input, dim); }
std::string LogSoftmax::extra_repr() const { return fmt::format("dim={}", dim); }

Tensor Softmax2d::forward(const Tensor& input) const {
  check(input.dim() == 3 || input.dim() == 4, "Softmax2d",
        "input must be (N, C, H, W) or (C, H, W)", input.shape());
  return softmax(input, -3);
}

}  // namespace aorta::nn
