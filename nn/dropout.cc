#include <aorta/core/ops/dropout.h>
#include <aorta/nn/dropout.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

double probability(const char* layer, double p) {
  check(p >= 0 && p <= 1, layer, "p must be in [0, 1]", p);
  return p;
}

}  // namespace

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

}  // namespace aorta::nn
