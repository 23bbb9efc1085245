#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>
#include <cmath>

namespace aorta::nn {
namespace {

Tensor weight_of(int64_t in, int64_t out) {
  check(in >= 0 && out >= 0, "Linear", "features must not be negative", in, " and ", out);
  return empty({out, in});
}

Tensor weight_of(int64_t in1, int64_t in2, int64_t out) {
  check(in1 > 0 && in2 >= 0 && out >= 0, "Bilinear",
        "in1_features must be positive, and the others not negative", in1, ", ", in2, " and ", out);
  return empty({out, in1, in2});
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, const LinearOptions& options)
    : in_features(in),
      out_features(out),
      weight(*this, "weight", weight_of(in, out)),
      bias(*this, "bias", options.bias ? empty({out}) : Tensor()) {
  Linear::reset_parameters();
}

Linear::Linear(Module& owner, const char* name, int64_t in, int64_t out,
               const LinearOptions& options)
    : Linear(in, out, options) {
  join(owner, name);
}

void Linear::reset_parameters() {
  const double bound = in_features == 0 ? 0 : 1 / std::sqrt(static_cast<double>(in_features));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor Linear::forward(const Tensor& input) const { return linear(input, weight, bias); }

std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", in_features, out_features,
                     repr(bias.defined()));
}

int64_t Linear::multiply_adds(const std::vector<Tensor>&,
                              const std::vector<Tensor>& outputs) const {
  return outputs.at(0).numel() * in_features;
}

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, const LinearOptions& options)
    : in1_features(in1),
      in2_features(in2),
      out_features(out),
      weight(*this, "weight", weight_of(in1, in2, out)),
      bias(*this, "bias", options.bias ? empty({out}) : Tensor()) {
  Bilinear::reset_parameters();
}

Bilinear::Bilinear(Module& owner, const char* name, int64_t in1, int64_t in2, int64_t out,
                   const LinearOptions& options)
    : Bilinear(in1, in2, out, options) {
  join(owner, name);
}

void Bilinear::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(in1_features));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor Bilinear::forward(const Tensor& input1, const Tensor& input2) const {
  return bilinear(input1, input2, weight, bias);
}

std::string Bilinear::extra_repr() const {
  return fmt::format("in1_features={}, in2_features={}, out_features={}, bias={}", in1_features,
                     in2_features, out_features, repr(bias.defined()));
}

int64_t Bilinear::multiply_adds(const std::vector<Tensor>&,
                                const std::vector<Tensor>& outputs) const {
  return outputs.at(0).numel() * (in1_features + 1) * in2_features;
}

Flatten::Flatten(int64_t start_dim, int64_t end_dim) : start_dim(start_dim), end_dim(end_dim) {}
Flatten::Flatten(Module& owner, const char* name, int64_t start_dim, int64_t end_dim)
    : Module(owner, name), start_dim(start_dim), end_dim(end_dim) {}
Tensor Flatten::forward(const Tensor& input) const { return input.flatten(start_dim, end_dim); }
std::string Flatten::extra_repr() const {
  return fmt::format("start_dim={}, end_dim={}", start_dim, end_dim);
}

Unflatten::Unflatten(int64_t dim, const Shape& sizes) : dim(dim), sizes(sizes) {}
Unflatten::Unflatten(Module& owner, const char* name, int64_t dim, const Shape& sizes)
    : Module(owner, name), dim(dim), sizes(sizes) {}
Tensor Unflatten::forward(const Tensor& input) const {
  check_given({{"input", input}});
  return input.unflatten(dim, sizes);
}
std::string Unflatten::extra_repr() const {
  return fmt::format("dim={}, unflattened_size={}", dim, repr(sizes));
}

}  // namespace aorta::nn
