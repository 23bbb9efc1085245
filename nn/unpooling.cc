#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/nn/sizes.h>
#include <aorta/nn/unpooling.h>

#include <fmt/format.h>
#include <limits>

namespace aorta::nn {
namespace {

// Products of sizes below it are numbers.
constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();

struct Windows {
  Dims kernel, stride, padding;
};

Dims spatial_sizes(const char* op, const Tensor& input, const Windows& windows,
                   const Dims& wanted) {
  const auto& [kernel, stride, padding] = windows;
  const int spatial = kernel.size();
  Dims sizes = wanted;
  if (sizes.size() == spatial + 2 || (sizes.size() == spatial + 1 && spatial + 1 == input.dim()))
    while (sizes.size() > spatial) sizes.erase(0);
  check(sizes.empty() || sizes.size() == spatial, op,
        "output_size must have the spatial sizes or all", wanted, " for ", input.shape());
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = input.size(input.dim() - spatial + d);
    check(kernel[d] > 0 && stride[d] > 0 && padding[d] >= 0, op,
          "kernel_size and stride must be positive, padding not negative", kernel, ", ", stride,
          " and ", padding);
    check(size > 0 && size <= kLargestSize && kernel[d] <= kLargestSize &&
              stride[d] <= kLargestSize && padding[d] <= kLargestSize,
          op, "sizes must be positive and below 2^31, but that of the batch", input.shape());
    const int64_t usual = (size - 1) * stride[d] - 2 * padding[d] + kernel[d];
    if (wanted.empty()) sizes.push_back(usual);
    check(sizes[d] > 0 && sizes[d] > usual - stride[d] && sizes[d] < usual + stride[d], op,
          "output_size must be positive and less than a stride away from (in - 1) stride - 2 "
          "padding + kernel_size",
          sizes[d], " for ", usual);
  }
  return sizes;
}

Tensor unpool(int spatial, const Tensor& input, const Tensor& indices, const Dims& kernel_size,
              const MaxUnpoolOptions& options, const Dims& output_size) {
  const std::string name = layer_name("max_unpool", spatial);
  const char* const op = name.c_str();
  const CalledOp called(op);
  check_defined(op, {{"input", input}, {"indices", indices}});
  check(input.dim() == spatial + 1 || input.dim() == spatial + 2, op,
        "input must be (N, C, *) or (C, *)", input.shape());
  check(indices.shape() == input.shape(), op, "indices must have the input's shape",
        indices.shape(), " for ", input.shape());
  check(indices.dtype() == DType::i64, op, "indices must be i64", indices.dtype());
  const Dims kernel = sizes_of(name, "kernel_size", kernel_size, spatial);
  const Dims stride =
      options.stride.empty() ? kernel : sizes_of(name, "stride", options.stride, spatial);
  const Dims padding = sizes_of(name, "padding", options.padding, spatial);
  const Dims sizes = spatial_sizes(op, input, {kernel, stride, padding}, output_size);
  const int front = input.dim() - spatial;
  Shape shape, flat;
  for (int d = 0; d < front; ++d) shape.push_back(input.size(d));
  flat = shape;
  for (const int64_t size : sizes) shape.push_back(size);
  checked_numel(op, shape, item_size(input.dtype()));
  flat.push_back(sizes.numel());
  const Tensor whole = zeros(flat, {.dtype = input.dtype(), .device = input.device()});
  return scatter(whole, -1, indices.flatten(front), input.flatten(front)).reshape(shape);
}

}  // namespace

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const Dims& stride, const Dims& padding, const Dims& output_size) {
  return unpool(1, input, indices, kernel_size, {stride, padding}, output_size);
}

Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const Dims& stride, const Dims& padding, const Dims& output_size) {
  return unpool(2, input, indices, kernel_size, {stride, padding}, output_size);
}

Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const Dims& stride, const Dims& padding, const Dims& output_size) {
  return unpool(3, input, indices, kernel_size, {stride, padding}, output_size);
}

MaxUnpool::MaxUnpool(int dims, const Dims& kernel, const MaxUnpoolOptions& options)
    : spatial(dims),
      kernel_size(sizes_of(layer_name("MaxUnpool", dims), "kernel_size", kernel, dims)),
      options(options) {}

Tensor MaxUnpool::forward(const Tensor& input, const Tensor& indices,
                          const Dims& output_size) const {
  return unpool(spatial, input, indices, kernel_size, options, output_size);
}

std::string MaxUnpool::type_name() const { return layer_name("MaxUnpool", spatial); }

std::string MaxUnpool::extra_repr() const {
  const Dims stride = options.stride.empty() ? kernel_size : options.stride;
  return fmt::format("kernel_size={}, stride={}, padding={}", repr(kernel_size), repr(stride),
                     repr(options.padding));
}

}  // namespace aorta::nn
