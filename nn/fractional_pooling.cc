#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>
#include <cmath>
#include <limits>

namespace aorta::nn {
namespace {

constexpr int64_t kLargestSide = std::numeric_limits<int32_t>::max();

Dims output_sizes(const char* op, const Tensor& input, int spatial, const Dims& kernel,
                  const FractionalMaxPoolOptions& options) {
  const std::vector<double>& ratios = options.output_ratio;
  check(options.output_size.empty() != ratios.empty(), op,
        "either output_size or output_ratio must be given", ratios.empty() ? "none" : "both");
  Dims sizes;
  if (ratios.empty()) sizes = sizes_of(op, "output_size", options.output_size, spatial);
  check(ratios.size() <= 1 || ratios.size() == static_cast<size_t>(spatial), op,
        "an output_ratio for each spatial dimension or one for all", ratios.size());
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = input.size(input.dim() - spatial + d);
    if (!ratios.empty()) {
      const double ratio = ratios[ratios.size() == 1 ? 0 : static_cast<size_t>(d)];
      check(ratio > 0 && ratio < 1, op, "output_ratio must be in (0, 1)", ratio);
      sizes.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * ratio)));
    }
    check(kernel[d] > 0 && sizes[d] > 0 && size <= kLargestSide && kernel[d] <= size &&
              sizes[d] <= size - kernel[d] + 1,
          op, "kernel_size and output_size must be positive, their sum at most the size plus 1",
          kernel[d], " and ", sizes[d], " for ", size);
  }
  return sizes;
}

// Where the windows along one dimension begin, (N, C, output) i64.
Tensor beginnings(const Tensor& samples, int64_t size, int64_t kernel, int64_t output) {
  const Tensor u = samples.unsqueeze(-1);  // (N, C, 1)
  const TensorOptions whole{.dtype = DType::i64, .device = samples.device()};
  const Tensor last = full({}, size - kernel, whole);
  const Tensor step = arange(output, whole);
  if (output == 1) return last.expand({samples.size(0), samples.size(1), 1});
  // In the samples' own precision, as PyTorch's: rounding decides at whole numbers.
  const Tensor a = full({}, size - kernel, {.dtype = u.dtype(), .device = u.device()}) /
                   static_cast<double>(output - 1);
  const Tensor at = floor((step.to(u.dtype()) + u) * a) - floor(u * a);
  return where(eq(step, output - 1), last, at.to(DType::i64));
}

ValuesIndices fractional_pool(int spatial, const Tensor& given, const Dims& kernel_size,
                              const FractionalMaxPoolOptions& options, const char* suffix = "") {
  const std::string name = layer_name("fractional_max_pool", spatial) + suffix;
  const char* const op = name.c_str();
  const CalledOp called(op);
  check_defined(op, {{"input", given}});
  check(given.dim() == spatial + 1 || given.dim() == spatial + 2, op,
        "input must be (N, C, *) or (C, *)", given.shape());
  check(is_floating(given.dtype()), op, "dtype must be floating", given.dtype());
  const Dims kernel = sizes_of(name, "kernel_size", kernel_size, spatial);
  const Dims sizes = output_sizes(op, given, spatial, kernel, options);
  const Tensor input = given.dim() == spatial + 1 ? given.unsqueeze(0) : given;
  const int64_t n = input.size(0), c = input.size(1);
  const TensorOptions as_input{.dtype = input.dtype(), .device = input.device()};
  Tensor samples = options.random_samples;
  if (!samples.defined()) samples = rand({n, c, spatial}, as_input);
  const Shape of_samples{n, c, spatial};
  check(samples.shape() == of_samples, op, "random_samples must be (N, C, n)", samples.shape(),
        " for ", input.shape());
  check(samples.dtype() == input.dtype(), op, "random_samples must have the input's dtype",
        samples.dtype(), " for ", input.dtype());
  samples = samples.detach().to(input.dtype() == DType::f64 ? DType::f64 : DType::f32);
  samples = clamp(where(isnan(samples), 0, samples), 0, 1 - 0x1p-24);
  // (N, C, windows.., taps..): the position of each tap in the spatial dimensions.
  Tensor places;
  for (int d = 0; d < spatial; ++d) {
    // PyTorch's samples of two dimensions are those of the width and the height.
    const int which = spatial == 2 ? 1 - d : d;
    const int64_t size = input.size(2 + d);
    const Tensor begin = beginnings(samples.select(2, which), size, kernel[d], sizes[d]);
    const Tensor tap = arange(kernel[d], {.dtype = DType::i64, .device = input.device()});
    Shape of_begin{n, c}, of_tap{1, 1};
    for (int k = 0; k < spatial; ++k) {
      of_begin.push_back(k == d ? sizes[d] : 1);
      of_tap.push_back(1);
    }
    for (int k = 0; k < spatial; ++k) {
      of_begin.push_back(1);
      of_tap.push_back(k == d ? kernel[d] : 1);
    }
    const Tensor along = begin.reshape(of_begin) + tap.view(of_tap);
    places = places.defined() ? places * size + along : along;
  }
  const int64_t windows = sizes.numel(), taps = kernel.numel();
  const Tensor index = places.reshape({n, c, windows * taps});
  const Tensor read = gather(input.flatten(2), 2, index).reshape({n, c, windows, taps});
  const ValuesIndices largest = max(read, -1);
  const Tensor where_largest =
      gather(index.reshape({n, c, windows, taps}), 3, largest.indices.unsqueeze(-1));
  Shape shape;
  for (int d = 0; d < given.dim() - spatial; ++d) shape.push_back(given.size(d));
  for (const int64_t size : sizes) shape.push_back(size);
  return {largest.values.reshape(shape), where_largest.reshape(shape)};
}

}  // namespace

Tensor fractional_max_pool2d(const Tensor& input, const Dims& kernel_size,
                             const FractionalMaxPoolOptions& options) {
  return fractional_pool(2, input, kernel_size, options).values;
}

Tensor fractional_max_pool3d(const Tensor& input, const Dims& kernel_size,
                             const FractionalMaxPoolOptions& options) {
  return fractional_pool(3, input, kernel_size, options).values;
}

ValuesIndices fractional_max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                 const FractionalMaxPoolOptions& options) {
  return fractional_pool(2, input, kernel_size, options, "_with_indices");
}

ValuesIndices fractional_max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                 const FractionalMaxPoolOptions& options) {
  return fractional_pool(3, input, kernel_size, options, "_with_indices");
}

FractionalMaxPool::FractionalMaxPool(int dims, const Dims& kernel,
                                     const FractionalMaxPoolOptions& options)
    : spatial(dims),
      kernel_size(sizes_of(layer_name("FractionalMaxPool", dims), "kernel_size", kernel, dims)),
      options(options) {
  check(options.output_size.empty() != options.output_ratio.empty(),
        layer_name("FractionalMaxPool", dims), "either output_size or output_ratio must be given",
        options.output_size.empty() ? "none" : "both");
}

Tensor FractionalMaxPool::forward(const Tensor& input) const {
  check_given({{"input", input}});
  return fractional_pool(spatial, input, kernel_size, options).values;
}

ValuesIndices FractionalMaxPool::forward_with_indices(const Tensor& input) const {
  return fractional_pool(spatial, input, kernel_size, options, "_with_indices");
}

std::string FractionalMaxPool::type_name() const {
  return layer_name("FractionalMaxPool", spatial);
}

std::string FractionalMaxPool::extra_repr() const {
  const std::string size =
      options.output_size.empty()
          ? fmt::format("output_ratio=({})", fmt::join(options.output_ratio, ", "))
          : "output_size=" + repr(options.output_size);
  return fmt::format("kernel_size={}, {}", repr(kernel_size), size);
}

}  // namespace aorta::nn
