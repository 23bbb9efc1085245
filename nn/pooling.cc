#include <aorta/core/called_op.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/nn/pooling.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

// The window's size where no stride is given.
Dims stride_of(const Dims& stride, const Dims& kernel) { return stride.empty() ? kernel : stride; }

// "3" where all sizes are equal.
std::string short_repr(const Dims& sizes) {
  for (const int64_t size : sizes) {
    if (size != sizes[0]) return repr(sizes);
  }
  return std::to_string(sizes[0]);
}

Tensor p_norms(int spatial, const Tensor& input, double p, const Dims& kernel_size,
               const LPPoolOptions& options) {
  const std::string name = layer_name("lp_pool", spatial);
  const CalledOp called(name.c_str());
  check_defined(name.c_str(), {{"input", input}});
  check(p != 0, name, "norm_type must not be 0", p);
  const Dims kernel = sizes_of(name, "kernel_size", kernel_size, spatial);
  const AvgPoolOptions windows{.stride = options.stride, .ceil_mode = options.ceil_mode};
  const Tensor powers = pow(input, p);
  const Tensor means = spatial == 1   ? avg_pool1d(powers, kernel, windows)
                       : spatial == 2 ? avg_pool2d(powers, kernel, windows)
                                      : avg_pool3d(powers, kernel, windows);
  // By way of relu, so that the gradient of a sum of 0 is 0.
  const Tensor sums = sign(means) * relu(abs(means)) * kernel.numel();
  return pow(sums, 1 / p);
}

}  // namespace

MaxPool::MaxPool(int dims, const Dims& kernel, const MaxPoolOptions& options)
    : spatial(dims),
      kernel_size(sizes_of(layer_name("MaxPool", dims), "kernel_size", kernel, dims)),
      options(options) {}

Tensor MaxPool::forward(const Tensor& input) const {
  if (spatial == 1) return max_pool1d(input, kernel_size, options);
  return spatial == 2 ? max_pool2d(input, kernel_size, options)
                      : max_pool3d(input, kernel_size, options);
}

ValuesIndices MaxPool::forward_with_indices(const Tensor& input) const {
  if (spatial == 1) return max_pool1d_with_indices(input, kernel_size, options);
  return spatial == 2 ? max_pool2d_with_indices(input, kernel_size, options)
                      : max_pool3d_with_indices(input, kernel_size, options);
}

std::string MaxPool::type_name() const { return layer_name("MaxPool", spatial); }

std::string MaxPool::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
                     short_repr(kernel_size), short_repr(stride_of(options.stride, kernel_size)),
                     short_repr(options.padding), short_repr(options.dilation),
                     repr(options.ceil_mode));
}

AvgPool::AvgPool(int dims, const Dims& kernel, const AvgPoolOptions& options)
    : spatial(dims),
      kernel_size(sizes_of(layer_name("AvgPool", dims), "kernel_size", kernel, dims)),
      options(options) {
  check(dims > 1 || !options.divisor_override, "AvgPool1d", "divisor_override must not be given",
        options.divisor_override.value_or(0));
}

Tensor AvgPool::forward(const Tensor& input) const {
  if (spatial == 1) return avg_pool1d(input, kernel_size, options);
  return spatial == 2 ? avg_pool2d(input, kernel_size, options)
                      : avg_pool3d(input, kernel_size, options);
}

std::string AvgPool::type_name() const { return layer_name("AvgPool", spatial); }

std::string AvgPool::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}", short_repr(kernel_size),
                     short_repr(stride_of(options.stride, kernel_size)),
                     short_repr(options.padding));
}

Tensor lp_pool1d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride,
                 bool ceil_mode) {
  return p_norms(1, input, norm_type, kernel_size, {stride, ceil_mode});
}

Tensor lp_pool2d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride,
                 bool ceil_mode) {
  return p_norms(2, input, norm_type, kernel_size, {stride, ceil_mode});
}

Tensor lp_pool3d(const Tensor& input, double norm_type, const Dims& kernel_size, const Dims& stride,
                 bool ceil_mode) {
  return p_norms(3, input, norm_type, kernel_size, {stride, ceil_mode});
}

LPPool::LPPool(int dims, double norm_type, const Dims& kernel, const LPPoolOptions& options)
    : spatial(dims),
      norm_type(norm_type),
      kernel_size(sizes_of(layer_name("LPPool", dims), "kernel_size", kernel, dims)),
      options(options) {
  check(norm_type != 0, layer_name("LPPool", dims).c_str(), "norm_type must not be 0", norm_type);
}

Tensor LPPool::forward(const Tensor& input) const {
  return p_norms(spatial, input, norm_type, kernel_size, options);
}

std::string LPPool::type_name() const { return layer_name("LPPool", spatial); }

std::string LPPool::extra_repr() const {
  return fmt::format("norm_type={}, kernel_size={}, stride={}, ceil_mode={}", norm_type,
                     short_repr(kernel_size), short_repr(stride_of(options.stride, kernel_size)),
                     repr(options.ceil_mode));
}

AdaptivePool::AdaptivePool(Kind kind, int dims, const Dims& size)
    : kind(kind), spatial(dims), output_size(size) {
  sizes_of(type_name(), "output_size", size, dims);
}

Tensor AdaptivePool::forward(const Tensor& input) const {
  constexpr decltype(&adaptive_avg_pool2d) kMax[] = {adaptive_max_pool1d, adaptive_max_pool2d,
                                                     adaptive_max_pool3d};
  constexpr decltype(&adaptive_avg_pool2d) kAvg[] = {adaptive_avg_pool1d, adaptive_avg_pool2d,
                                                     adaptive_avg_pool3d};
  return (kind == Kind::max ? kMax : kAvg)[spatial - 1](input, output_size);
}

ValuesIndices AdaptivePool::forward_with_indices(const Tensor& input) const {
  check(kind == Kind::max, type_name(), "a mean has no index", input.shape());
  constexpr decltype(&adaptive_max_pool2d_with_indices) kMax[] = {adaptive_max_pool1d_with_indices,
                                                                  adaptive_max_pool2d_with_indices,
                                                                  adaptive_max_pool3d_with_indices};
  return kMax[spatial - 1](input, output_size);
}

std::string AdaptivePool::type_name() const {
  return layer_name(kind == Kind::max ? "AdaptiveMaxPool" : "AdaptiveAvgPool", spatial);
}

std::string AdaptivePool::extra_repr() const { return "output_size=" + short_repr(output_size); }

}  // namespace aorta::nn
