#include <aorta/core/ops/pooling.h>

#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators/window.h>

#include <algorithm>
#include <limits>

namespace aorta::onnx {
namespace {

using Placed = Window::Placed;

/// A pooling's window: `tail` is what ceil_mode adds behind the padding to complete the last one.
struct Pool : Placed {
  Dims tail;
  bool ceil_mode;

  Pool(const char* op, const Window& window, const Tensor& x, bool rounds_up)
      : Placed(window.place(op, x, Dims(window.kernel))), ceil_mode(rounds_up) {
    for (int d = 0; d < spatial(); ++d) {
      const int64_t whole = size[d] + before[d] + after[d], rest = whole - reach(d);
      check(rest >= 0, op, "a window must fit the padded input", reach(d), " in ", whole);
      int64_t windows = rest / stride[d] + 1;
      // No window begins in the padding at the end.
      if (ceil_mode && rest % stride[d] != 0 && windows * stride[d] < size[d] + before[d])
        ++windows;
      tail.push_back(std::max<int64_t>((windows - 1) * stride[d] + reach(d) - whole, 0));
    }
  }

  /// Whether Aorta's pools pad like this themselves.
  bool is_plain() const {
    bool plain = before == after;
    for (int d = 0; d < spatial(); ++d) plain &= 2 * before[d] <= kernel[d];
    return plain;
  }
  Tensor padded(const Tensor& x, const Dims& front, const Dims& back, double value) const {
    Dims padding;
    for (int d = spatial() - 1; d >= 0; --d) {
      padding.push_back(front[d]);
      padding.push_back(back[d]);
    }
    return pad(x, padding, PadMode::constant, value);
  }
  /// Padding and tail filled alike.
  Tensor filled(const Tensor& x, double value) const {
    const Dims none = Dims::filled(spatial(), 0);
    return padded(padded(x, before, after, value), none, tail, value);
  }
  Tensor average(const Tensor& x, const Dims& padding, bool rounds_up, bool include) const {
    if (spatial() == 1) return avg_pool1d(x, kernel, stride, padding, rounds_up, include);
    if (spatial() == 2) return avg_pool2d(x, kernel, stride, padding, rounds_up, include);
    return avg_pool3d(x, kernel, stride, padding, rounds_up, include);
  }
  /// The sums of windows of an input that is padded already.
  Tensor sums(const Tensor& x) const {
    if (!is_dilated())
      return mul(average(x, {0}, false, true), static_cast<double>(kernel.numel()));
    Shape planes = x.shape(), ones_shape{1, 1};
    planes[0] = x.size(0) * x.size(1);
    planes[1] = 1;
    for (const int64_t k : kernel) ones_shape.push_back(k);
    const Tensor weight = ones(ones_shape, {.dtype = x.dtype(), .device = x.device()});
    const ConvolutionOptions options{stride, 0, dilation, 1};
    const Tensor p = reshape(x, planes);
    const Tensor y = spatial() == 1   ? conv1d(p, weight, options)
                     : spatial() == 2 ? conv2d(p, weight, options)
                                      : conv3d(p, weight, options);
    Shape shape = y.shape();
    shape[0] = x.size(0);
    shape[1] = x.size(1);
    return reshape(y, shape);
  }
  ValuesIndices largest(const Tensor& x, const Dims& padding, bool rounds_up) const {
    const MaxPoolOptions options{stride, padding, dilation, rounds_up};
    if (spatial() == 1) return max_pool1d_with_indices(x, kernel, options);
    if (spatial() == 2) return max_pool2d_with_indices(x, kernel, options);
    return max_pool3d_with_indices(x, kernel, options);
  }
};

Window pool_window(const Node& node) {
  Window window(node);
  node.check(!window.kernel.empty(), "attribute kernel_shape must be given", "none");
  return window;
}

Run averages(const Node& node) {
  const Window window = pool_window(node);
  const bool ceil_mode = node.flag("ceil_mode", false);
  const bool include = node.flag("count_include_pad", false);
  return [=](const Inputs& x) -> Tensors {
    const Pool pool("AveragePool", window, x[0], ceil_mode);
    if (pool.is_plain() && !pool.is_dilated())
      return {pool.average(x[0], pool.before, ceil_mode, include)};
    const Dims none = Dims::filled(pool.spatial(), 0);
    const Tensor input = summable(x[0]);
    const Tensor counted = pool.padded(ones_like(input), pool.before, pool.after, include ? 1 : 0);
    const Tensor counts = pool.sums(pool.padded(counted, none, pool.tail, 0));
    return {div(pool.sums(pool.filled(input, 0)), counts).to(x[0].dtype())};
  };
}

// Places in the whole tensor, in one of two orders of the map, from those in a padded plane.
Tensor places_of(Tensor places, const Pool& pool, const Shape& shape, const Dims& padded_size,
                 const Dims& before, bool columns_first) {
  Tensor flat = zeros_like(places);
  int64_t step = 1;
  std::vector<Tensor> coordinates(static_cast<size_t>(pool.spatial()));
  for (int d = pool.spatial() - 1; d >= 0; --d) {
    coordinates[static_cast<size_t>(d)] = sub(remainder(places, padded_size[d]), before[d]);
    places = floor_divide(places, padded_size[d]);
  }
  for (int i = 0; i < pool.spatial(); ++i) {
    const int d = columns_first ? i : pool.spatial() - 1 - i;
    flat = add(flat, mul(coordinates[static_cast<size_t>(d)], step));
    step *= pool.size[d];
  }
  Shape planes = Dims::filled(shape.size(), 1);
  planes[0] = shape[0];
  planes[1] = shape[1];
  const TensorOptions numbers{.dtype = i64, .device = flat.device()};
  return add(flat, mul(arange(shape[0] * shape[1], numbers).view(planes), step));
}

Run largest_of(const Node& node) {
  const Window window = pool_window(node);
  const bool ceil_mode = node.flag("ceil_mode", false);
  const bool columns_first = node.flag("storage_order", false), indices = node.outputs() > 1;
  return [=](const Inputs& x) -> Tensors {
    // f32 holds integers of 8 bits.
    const bool small = x[0].dtype() == u8;
    const Tensor input = small ? x[0].to(f32) : x[0];
    const Pool pool("MaxPool", window, input, ceil_mode);
    const bool plain = pool.is_plain();
    const ValuesIndices r =
        plain ? pool.largest(input, pool.before, ceil_mode)
              : pool.largest(pool.filled(input, -std::numeric_limits<double>::infinity()), {0},
                             false);
    const Tensor values = small ? r.values.to(u8) : r.values;
    if (!indices) return {values};
    Dims padded_size = pool.size;
    for (int d = 0; !plain && d < pool.spatial(); ++d)
      padded_size[d] += pool.before[d] + pool.after[d] + pool.tail[d];
    return {values,
            places_of(r.indices, pool, input.shape(), padded_size,
                      plain ? Dims::filled(pool.spatial(), 0) : pool.before, columns_first)};
  };
}

// (sum of |x|^p)^(1 / p), of windows without padding that counts.
Run norms(const Node& node) {
  const Window window = pool_window(node);
  const bool ceil_mode = node.flag("ceil_mode", false);
  const auto p = static_cast<double>(node.integer("p", 2));
  node.check(p >= 1, "attribute p must be positive", p);
  return [=](const Inputs& x) -> Tensors {
    const Pool pool("LpPool", window, x[0], ceil_mode);
    // By way of relu, so that the gradient of a sum of 0 is 0.
    const Tensor sums = pool.sums(pool.filled(pow(abs(summable(x[0])), p), 0));
    return {pow(relu(sums), 1 / p).to(x[0].dtype())};
  };
}

Dims spatial_dims(const char* op, const Tensor& x) {
  check(x.dim() > 2, op, "input must have spatial dimensions", x.shape());
  Dims dims;
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

Run global_average(const Node&) {
  return [](const Inputs& x) -> Tensors {
    return {mean(x[0], spatial_dims("GlobalAveragePool", x[0]), true)};
  };
}
Run global_largest(const Node&) {
  return [](const Inputs& x) -> Tensors {
    return {amax(x[0], spatial_dims("GlobalMaxPool", x[0]), true)};
  };
}
Run global_norm(const Node& node) {
  const auto p = static_cast<double>(node.integer("p", 2));
  return [p](const Inputs& x) -> Tensors {
    return {norm(x[0], p, spatial_dims("GlobalLpPool", x[0]), true)};
  };
}

}  // namespace

void add_pooling(Operators& table) {
  table["AveragePool"] = {averages};
  table["GlobalAveragePool"] = {global_average};
  table["GlobalLpPool"] = {global_norm};
  table["GlobalMaxPool"] = {global_largest};
  table["LpPool"] = {norms};
  table["MaxPool"] = {largest_of, 1, 1, 2};
}

}  // namespace aorta::onnx
