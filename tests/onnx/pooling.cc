#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/tests/onnx/operators.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Dims numbers(const Case& c, const char* key, int64_t otherwise) {
  const int spatial = c.inputs[0].dim() - 2;
  return c.attributes.value(key, std::vector<int64_t>(static_cast<size_t>(spatial), otherwise));
}

/// The attributes of a pooling; padding by dimension, before and after.
struct Window {
  int spatial;
  Dims kernel, stride, dilation, before, after;
  bool ceil_mode;

  explicit Window(const Case& c)
      : spatial(c.inputs[0].dim() - 2),
        kernel(numbers(c, "kernel_shape", 1)),
        stride(numbers(c, "strides", 1)),
        dilation(numbers(c, "dilations", 1)),
        ceil_mode(c.integer("ceil_mode", 0) != 0) {
    const std::string automatic = c.text("auto_pad", "NOTSET");
    const std::vector<int64_t> pads =
        c.attributes.value("pads", std::vector<int64_t>(static_cast<size_t>(2 * spatial), 0));
    for (int d = 0; d < spatial; ++d) {
      const int64_t size = c.inputs[0].size(d + 2), windows = (size + stride[d] - 1) / stride[d];
      const int64_t total = std::max<int64_t>(
          (windows - 1) * stride[d] + (kernel[d] - 1) * dilation[d] + 1 - size, 0);
      const int64_t less = total / 2, more = total - less;
      const bool lower = automatic == "SAME_LOWER", upper = automatic == "SAME_UPPER";
      before.push_back(lower ? more : upper ? less : pads[static_cast<size_t>(d)]);
      after.push_back(lower ? less : upper ? more : pads[static_cast<size_t>(d + spatial)]);
    }
  }

  /// Whether the pools pad like this themselves.
  bool is_plain() const {
    bool plain = before == after;
    for (int d = 0; d < spatial; ++d) plain &= 2 * before[d] <= kernel[d];
    return plain;
  }
  Tensor padded(const Tensor& x, double value) const {
    Dims padding;
    for (int d = spatial - 1; d >= 0; --d) {
      padding.push_back(before[d]);
      padding.push_back(after[d]);
    }
    return pad(x, padding, PadMode::constant, value);
  }
  Tensor average(const Tensor& x, const Dims& padding, bool include) const {
    if (spatial == 1) return avg_pool1d(x, kernel, stride, padding, ceil_mode, include);
    if (spatial == 2) return avg_pool2d(x, kernel, stride, padding, ceil_mode, include);
    return avg_pool3d(x, kernel, stride, padding, ceil_mode, include);
  }
  ValuesIndices largest(const Tensor& x, const Dims& padding) const {
    const MaxPoolOptions options{stride, padding, dilation, ceil_mode};
    if (spatial == 1) return max_pool1d_with_indices(x, kernel, options);
    if (spatial == 2) return max_pool2d_with_indices(x, kernel, options);
    return max_pool3d_with_indices(x, kernel, options);
  }
};

Tensors averages(const Case& c) {
  const Window window(c);
  const bool include = c.integer("count_include_pad", 0) != 0;
  const Tensor& x = c.inputs[0];
  if (window.is_plain()) return {window.average(x, window.before, include)};
  const Tensor sums = window.average(window.padded(x, 0), {0}, true);
  return {include ? sums : sums / window.average(window.padded(ones_like(x), 0), {0}, true)};
}

std::string has_dilation(const Case& c) {
  const Window window(c);
  for (int64_t step : window.dilation) {
    if (step != 1) return "averages have no dilation";
  }
  return "";
}

// Places in the whole tensor, in one of two orders of the map.
Tensor places_of(const Tensor& indices, const Shape& shape, bool columns_first) {
  const int64_t positions = shape.numel() / (shape[0] * shape[1]);
  Tensor places = indices;
  if (columns_first) {
    places = remainder(indices, shape[3]) * shape[2] + floor_divide(indices, shape[3]);
  }
  Shape planes = Dims::filled(shape.size(), 1);
  planes[0] = shape[0];
  planes[1] = shape[1];
  return places + arange(shape[0] * shape[1]).view(planes) * positions;
}

Tensors largest(const Case& c) {
  const Window window(c);
  const Tensor& x = c.inputs[0];
  if (!window.is_plain()) return {window.largest(window.padded(x, -kInfinity), {0}).values};
  const ValuesIndices r = window.largest(x, window.before);
  if (c.outputs == 1) return {r.values};
  return {r.values, places_of(r.indices, x.shape(), c.integer("storage_order", 0) != 0)};
}

Tensors global_average(const Case& c) {
  const Tensor& x = c.inputs[0];
  return {x.dim() == 3   ? adaptive_avg_pool1d(x, {1})
          : x.dim() == 4 ? adaptive_avg_pool2d(x, {1})
                         : adaptive_avg_pool3d(x, {1})};
}

// (sum of |x|^p)^(1 / p), of windows without padding that counts.
Tensors norms(const Case& c) {
  const Window window(c);
  const double p = static_cast<double>(c.integer("p", 2));
  const Tensor powers = window.padded(pow(abs(c.inputs[0]), p), 0);
  const double count = static_cast<double>(window.kernel.numel());
  return {pow(window.average(powers, {0}, true) * count, 1 / p)};
}

std::string resize_misfit(const Case& c) {
  const std::string coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "align_corners")
    return "no coordinates " + coordinates;
  if (c.number("cubic_coeff_a", -0.75) != -0.75 || c.integer("exclude_outside", 0))
    return "another cubic kernel";
  if (coordinates == "half_pixel" || !c.has(2)) return "";
  const std::vector<double> scales = c.inputs[2].to_vector<double>();
  for (size_t d = 0; d < scales.size(); ++d) {
    const double size = scales[d] * static_cast<double>(c.inputs[0].size(static_cast<int64_t>(d)));
    if (std::abs(size - std::round(size)) > 1e-3) return "corners of a size that isn't whole";
  }
  return "";
}

// Sizes of the last two dimensions.
Dims resized(const Case& c) {
  Dims result{c.inputs[0].size(2), c.inputs[0].size(3)};
  const std::vector<double> given = c.inputs[c.has(3) ? 3 : 2].to_vector<double>();
  std::vector<int64_t> axes = {0, 1, 2, 3};
  axes = c.attributes.value("axes", axes);
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  double common = policy == "not_larger" ? kInfinity : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 2) continue;
    const int d = static_cast<int>(axes[i]) - 2;
    const double ratio = given[i] / static_cast<double>(result[d]);
    common = policy == "not_larger" ? std::min(common, ratio) : std::max(common, ratio);
    if (policy == "stretch") {
      result[d] = static_cast<int64_t>(
          c.has(3) ? given[i] : std::floor(given[i] * static_cast<double>(result[d]) + 1e-4));
    }
  }
  if (policy == "stretch") return result;
  for (int64_t& size : result)
    size = static_cast<int64_t>(std::floor(common * static_cast<double>(size) + 0.5));
  return result;
}

Tensors resize(const Case& c) {
  const std::string mode = c.text("mode", "nearest");
  InterpolateOptions options{.size = resized(c)};
  if (mode == "nearest") {
    // Halves go down: those of the mirrored image go up.
    options.mode = InterpolateMode::nearest_exact;
    return {flip(interpolate(flip(c.inputs[0], {2, 3}), options), {2, 3})};
  }
  options.mode = mode == "linear" ? InterpolateMode::bilinear : InterpolateMode::bicubic;
  options.align_corners = c.text("coordinate_transformation_mode", "") == "align_corners";
  return {interpolate(c.inputs[0], options)};
}

}  // namespace

void add_pooling(Operators& table) {
  constexpr double kSums = 1e-6;
  // One case's input and output are published in four digits.
  table["AveragePool"] = {averages, kSums, 1e-4, has_dilation};
  table["GlobalAveragePool"] = {global_average, kSums, kSums};
  table["LpPool"] = {norms, kSums, kSums, has_dilation};
  table["MaxPool"] = {largest};
  table["Resize"] = {resize, kSums, kSums, resize_misfit};
}

}  // namespace aorta::onnx
