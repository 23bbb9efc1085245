#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/grid_sample.h>
#include <aorta/onnx/operators/window.h>

#include <algorithm>
#include <cmath>
#include <numeric>

// Pictures at other places than their own: grids, regions, blocks, boxes.
namespace aorta::onnx {
namespace {

Run affine_grid_of(const Node& node) {
  const bool align = node.flag("align_corners", false);
  return [=](const Inputs& x) -> Tensors {
    return {nn::affine_grid(x[0], Shape(x.integers(1)), align)};
  };
}

Run grid_sampled(const Node& node) {
  nn::GridSampleOptions options{.align_corners = node.flag("align_corners", false)};
  options.padding_mode = static_cast<nn::GridSamplePadding>(
      node.choice("padding_mode", {"zeros", "border", "reflection"}));
  const size_t mode = node.opset() < 20 ? node.choice("mode", {"bilinear", "nearest", "bicubic"})
                                        : node.choice("mode", {"linear", "nearest", "cubic"});
  options.mode = static_cast<nn::GridSampleMode>(mode);
  return [=](const Inputs& x) -> Tensors {
    return {nn::grid_sample(x[0], x[1].to(x[0].dtype()), options)};
  };
}

// Each position of a block at each place of the block, in one number for all dimensions: columns
// (N, C taps, L) add up there.
Run col2im_of(const Node& node) {
  const std::vector<int64_t> strides = node.integers("strides"), pads = node.integers("pads");
  const std::vector<int64_t> dilations = node.integers("dilations");
  for (const auto* numbers : {&strides, &pads, &dilations})
    for (const int64_t number : *numbers)
      node.check(number >= (numbers == &pads ? 0 : 1) && number < kMostPlaces,
                 "strides and dilations must be positive, and pads not negative", number);
  return [=](const Inputs& x) -> Tensors {
    const std::vector<int64_t> image = x.integers(1), block = x.integers(2);
    const size_t spatial = image.size();
    const auto fits = [&](const std::vector<int64_t>& numbers, size_t count) {
      return numbers.empty() || numbers.size() == count;
    };
    check(x[0].dim() == 3 && spatial >= 1 && spatial <= 8 && block.size() == spatial &&
              fits(strides, spatial) && fits(dilations, spatial) && fits(pads, 2 * spatial),
          "Col2Im", "shapes and attributes must have a number for each spatial dimension",
          x[0].shape(), " for ", spatial);
    Tensor places = zeros({1, 1}, {.dtype = i64, .device = x[0].device()});
    int64_t padded = 1, taps = 1;
    Shape whole{x[0].size(0), 0}, sizes;
    for (size_t d = 0; d < spatial; ++d) {
      check(image[d] >= 1 && image[d] < kMostPlaces && block[d] >= 1 && block[d] < kMostPlaces,
            "Col2Im", "sizes must be 1 to 2147483647", image[d], " and ", block[d]);
      const int64_t step = strides.empty() ? 1 : strides[d];
      const int64_t apart = dilations.empty() ? 1 : dilations[d];
      const int64_t size = image[d] + (pads.empty() ? 0 : pads[d] + pads[d + spatial]);
      const int64_t count = (size - apart * (block[d] - 1) - 1) / step + 1;
      check(size >= apart * (block[d] - 1) + 1, "Col2Im", "blocks must fit into the image",
            block[d], " in ", size);
      const TensorOptions numbers{.dtype = i64, .device = x[0].device()};
      const Tensor own = add(mul(arange(block[d], numbers), apart).unsqueeze(1),
                             mul(arange(count, numbers), step));
      const Tensor outer = mul(places, size).unsqueeze(1).unsqueeze(3);
      places = add(outer, own.unsqueeze(0).unsqueeze(2))
                   .reshape({places.size(0) * block[d], places.size(1) * count});
      padded *= size;
      taps *= block[d];
      check(padded < kMostPlaces && taps < kMostPlaces, "Col2Im", "positions must be below 2^31",
            padded);
      whole.push_back(size);
      sizes.push_back(size);
    }
    check(x[0].size(1) % taps == 0 && x[0].size(2) == places.size(1), "Col2Im",
          "columns must be (N, C taps, L) of the blocks", x[0].shape(), " for ", taps, " taps and ",
          places.size(1), " blocks");
    whole[1] = x[0].size(1) / taps;
    const int64_t planes = whole[0] * whole[1];
    const Tensor columns = x[0].reshape({planes, places.numel()});
    Tensor y = scatter_reduce(
        zeros({planes, padded}, {.dtype = x[0].dtype(), .device = x[0].device()}), 1,
        places.reshape({1, -1}).expand(columns.shape()), columns, ScatterReduce::sum);
    y = y.reshape(whole);
    for (size_t d = 0; d < spatial; ++d)
      y = y.narrow(static_cast<int64_t>(d) + 2, pads.empty() ? 0 : pads[d], image[d]);
    return {y};
  };
}

// Indices count in all of the output.
Run unpooled(const Node& node) {
  const Window window(node);
  node.check(!window.kernel.empty(), "attribute kernel_shape must be given", "none");
  return [=](const Inputs& x) -> Tensors {
    const Window::Placed w = window.place("MaxUnpool", x[0], Dims(window.kernel));
    Shape shape{x[0].size(0), x[0].size(1)};
    for (int d = 0; d < w.spatial(); ++d)
      shape.push_back((w.size[d] - 1) * w.stride[d] - w.before[d] - w.after[d] + w.kernel[d]);
    const Shape wanted = x.has(2) ? Shape(x.integers(2)) : shape;
    check(wanted.size() == shape.size(), "MaxUnpool", "output_shape must have all dimensions",
          wanted);
    int64_t count = 1;
    for (const int64_t size : shape) {
      check(size >= 0 && size < kMostPlaces && count < kMostPlaces, "MaxUnpool",
            "sizes must be 0 to 2147483647", shape);
      count *= size;
    }
    const Tensor flat = zeros({count}, {.dtype = x[0].dtype(), .device = x[0].device()});
    Tensor y = scatter(flat, 0, x[1].flatten(), x[0].flatten()).reshape(shape);
    // A larger one has zeros at the end of each dimension.
    Dims more;
    for (int d = wanted.size(); d-- > 0;) {
      check(wanted[d] >= shape[d] && wanted[d] < kMostPlaces, "MaxUnpool",
            "output_shape must be what the pooling had, or more below 2^31", wanted, " for ",
            shape);
      more.push_back(0);
      more.push_back(wanted[d] - shape[d]);
    }
    return {wanted == shape ? y : pad(y, more)};
  };
}

struct Box {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};

bool overlap(const Box& a, const Box& b, float most) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0 && width > 0)) return false;
  const float both = height * width;
  return both > most * (a.area() + b.area() - both);
}

// (batch, class, box) of the boxes that stay, by class, the highest scores first.
Run non_max_suppression(const Node& node) {
  const bool centred = node.flag("center_point_box", false);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 3 && x[0].size(2) == 4 && x[1].dim() == 3 && x[1].size(0) == x[0].size(0) &&
              x[1].size(2) == x[0].size(1),
          "NonMaxSuppression", "boxes must be (N, B, 4) and scores (N, C, B)", x[0].shape(),
          " and ", x[1].shape());
    const int64_t most = x.has(2) ? x[2].item<int64_t>() : 0;
    const float most_overlap = x.has(3) ? x[3].item<float>() : 0;
    const bool has_least = x.has(4);
    const float least = has_least ? x[4].item<float>() : 0;
    const std::vector<float> corners = x[0].to_vector<float>(), scores = x[1].to_vector<float>();
    const auto boxes = static_cast<size_t>(x[0].size(1));
    std::vector<int64_t> selected;
    for (int64_t n = 0; n < x[1].size(0); ++n) {
      std::vector<Box> all;
      for (size_t b = 0; b < boxes; ++b) {
        const float* const c = &corners[(static_cast<size_t>(n) * boxes + b) * 4];
        if (centred)
          all.push_back({c[1] - c[3] / 2, c[0] - c[2] / 2, c[1] + c[3] / 2, c[0] + c[2] / 2});
        else
          all.push_back({std::min(c[0], c[2]), std::min(c[1], c[3]), std::max(c[0], c[2]),
                         std::max(c[1], c[3])});
      }
      for (int64_t label = 0; label < x[1].size(1); ++label) {
        const float* const score =
            scores.data() + static_cast<size_t>(n * x[1].size(1) + label) * boxes;
        std::vector<size_t> order;
        for (size_t b = 0; b < boxes; ++b)
          if (!std::isnan(score[b]) && (!has_least || score[b] > least)) order.push_back(b);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return score[a] > score[b]; });
        std::vector<size_t> kept;
        for (const size_t b : order) {
          if (static_cast<int64_t>(kept.size()) >= most) break;
          const bool hidden = std::any_of(kept.begin(), kept.end(), [&](size_t k) {
            return overlap(all[k], all[b], most_overlap);
          });
          if (hidden) continue;
          kept.push_back(b);
          selected.insert(selected.end(), {n, label, static_cast<int64_t>(b)});
        }
      }
    }
    const auto rows = static_cast<int64_t>(selected.size() / 3);
    return {tensor(selected, Shape{rows, 3}).to(x[0].device())};
  };
}

// Along one side of a region: what each sample takes of each position, (samples, positions), from
// the position below it and from the one above.
struct Taps {
  Tensor below, above;
  int64_t samples;  // in a bin
};
Taps taps_of(double start, double length, int64_t bins, int64_t samples, int64_t positions,
             const Tensor& like) {
  if (samples == 0) samples = static_cast<int64_t>(std::ceil(length / static_cast<double>(bins)));
  check(samples >= 0 && samples < 1 << 20, "RoiAlign", "a bin must have 0 to 1048575 samples",
        samples);
  const double step = samples == 0 ? 0 : length / static_cast<double>(bins * samples);
  const TensorOptions options{.dtype = f64, .device = like.device()};
  const Tensor given = add(mul(add(arange(bins * samples, options), 0.5), step), start);
  const Tensor inside = logical_and(ge(given, -1), le(given, static_cast<double>(positions)));
  const Tensor at = clamp(given, 0, static_cast<double>(positions - 1)).unsqueeze(1);
  const Tensor j = arange(positions, options), low = floor(at);
  const Tensor part = sub(at, low), shown = inside.unsqueeze(1).to(f64);
  return {mul(mul(eq(j, low).to(f64), sub(1, part)), shown).to(like.dtype()),
          mul(mul(eq(j, add(low, 1)).to(f64), part), shown).to(like.dtype()), samples};
}

// Means, or maxima, of samples of the regions' bins. The maximum is that of the four weighted
// neighbours of all samples, as the operator has it.
Run aligned(const Node& node) {
  const bool by_half =
      node.choice("coordinate_transformation_mode", {"half_pixel", "output_half_pixel"}) == 0 &&
      node.opset() >= 16;
  const bool maximum = node.choice("mode", {"avg", "max"}) == 1;
  const int64_t height = node.integer("output_height", 1), width = node.integer("output_width", 1);
  const int64_t samples = node.integer("sampling_ratio", 0);
  const double scale = node.number("spatial_scale", 1);
  node.check(height > 0 && height < 1 << 15 && width > 0 && width < 1 << 15 && samples >= 0,
             "output sizes must be 1 to 32767 and sampling_ratio not negative", height, ", ", width,
             " and ", samples);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 4 && x[0].size(2) > 0 && x[0].size(3) > 0 && x[1].dim() == 2 &&
              x[1].size(1) == 4 && x[2].numel() == x[1].size(0),
          "RoiAlign", "inputs must be (N, C, H, W), (R, 4) and (R)", x[0].shape(), ", ",
          x[1].shape(), " and ", x[2].shape());
    const std::vector<double> regions = x[1].to_vector<double>();
    const std::vector<int64_t> pictures = x.integers(2);
    const int64_t channels = x[0].size(1);
    Tensors results;
    for (size_t r = 0; r < pictures.size(); ++r) {
      double start[2], length[2];
      for (const size_t d : {0, 1}) {  // y, x
        const double begin = regions[4 * r + 1 - d], end = regions[4 * r + 3 - d];
        start[d] = begin * scale - (by_half ? 0.5 : 0);
        length[d] = (end - begin) * scale;
        check(std::abs(start[d]) < kMostPlaces && length[d] < kMostPlaces, "RoiAlign",
              "regions must lie within 2^31 positions", begin, " to ", end);
        if (!by_half) length[d] = std::max(length[d], 1.0);
        length[d] = std::max(length[d], 0.0);
      }
      const Tensor picture = x[0].select(0, pictures[r]);  // (C, H, W)
      const Taps rows = taps_of(start[0], length[0], height, samples, x[0].size(2), x[0]);
      const Taps columns = taps_of(start[1], length[1], width, samples, x[0].size(3), x[0]);
      const Shape bins{channels, height, rows.samples, width, columns.samples};
      if (rows.samples == 0 || columns.samples == 0) {
        results.push_back(
            zeros({channels, height, width}, {.dtype = x[0].dtype(), .device = x[0].device()}));
      } else if (maximum) {
        Tensor most;
        for (const Tensor& row : {rows.below, rows.above}) {
          for (const Tensor& column : {columns.below, columns.above}) {
            const Tensor part = matmul(matmul(row, picture), column.t());
            most = most.defined() ? aorta::maximum(most, part) : part;
          }
        }
        results.push_back(amax(most.reshape(bins), {2, 4}));
      } else {
        const Tensor all = matmul(matmul(add(rows.below, rows.above), picture),
                                  add(columns.below, columns.above).t());
        results.push_back(mean(all.reshape(bins), {2, 4}));
      }
    }
    if (results.empty())
      return {
          zeros({0, channels, height, width}, {.dtype = x[0].dtype(), .device = x[0].device()})};
    return {stack(results)};
  };
}

// Each tap of the kernel reads the input at a place of its own: sampled into columns, then one
// product for each group.
Run deformed_convolution(const Node& node) {
  const Window window(node);
  const int64_t groups = node.integer("group", 1), fields = node.integer("offset_group", 1);
  node.check(groups > 0 && fields > 0, "group and offset_group must be positive", groups, " and ",
             fields);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 4 && x[1].dim() == 4 && x[0].size(1) % fields == 0 &&
              x[1].size(0) % groups == 0 && x[1].size(1) * groups == x[0].size(1),
          "DeformConv", "input must be (N, C, H, W) and weight (M, C / group, kh, kw)",
          x[0].shape(), " and ", x[1].shape());
    const Window::Placed w = window.place("DeformConv", x[0], {x[1].size(2), x[1].size(3)});
    const int64_t n = x[0].size(0), channels = x[0].size(1), taps = w.kernel[0] * w.kernel[1];
    const int64_t rows = (w.size[0] + w.before[0] + w.after[0] - w.reach(0)) / w.stride[0] + 1;
    const int64_t columns = (w.size[1] + w.before[1] + w.after[1] - w.reach(1)) / w.stride[1] + 1;
    check(w.size[0] + w.before[0] + w.after[0] >= w.reach(0) &&
              w.size[1] + w.before[1] + w.after[1] >= w.reach(1) &&
              x[2].shape() == Shape{n, 2 * fields * taps, rows, columns},
          "DeformConv", "offset must be (N, 2 offset_group kh kw, oh, ow)", x[2].shape());
    const Tensor moved = x[2].reshape({n * fields, w.kernel[0], w.kernel[1], 2, rows, columns});
    const TensorOptions numbers{.dtype = x[0].dtype(), .device = x[0].device()};
    Tensor at[2];  // (N fields, kh, kw, oh, ow), as grid_sample counts
    for (const int d : {0, 1}) {
      const auto place = [&](int64_t count, int64_t step, std::initializer_list<int64_t> shape) {
        return mul(arange(count, numbers), static_cast<double>(step)).reshape(Shape(shape));
      };
      const Tensor tap = d == 0 ? place(w.kernel[0], w.dilation[0], {w.kernel[0], 1, 1, 1})
                                : place(w.kernel[1], w.dilation[1], {w.kernel[1], 1, 1});
      const Tensor step =
          d == 0 ? place(rows, w.stride[0], {rows, 1}) : place(columns, w.stride[1], {columns});
      const Tensor still = sub(add(tap, step), static_cast<double>(w.before[d]));
      const Tensor position = add(moved.select(3, d), still);
      at[d] = sub(div(add(mul(position, 2), 1), static_cast<double>(w.size[d])), 1);
    }
    const Tensor grid = stack({at[1], at[0]}, -1).reshape({n * fields, taps * rows, columns, 2});
    const Tensor picture = x[0].reshape({n * fields, channels / fields, w.size[0], w.size[1]});
    Tensor sampled = nn::grid_sample(picture, grid)
                         .reshape({n, fields, channels / fields, taps, rows * columns});
    if (x.has(4)) sampled = mul(sampled, x[4].reshape({n, fields, 1, taps, rows * columns}));
    const int64_t outputs = x[1].size(0);
    const Tensor weight = x[1].reshape({groups, outputs / groups, channels / groups * taps});
    Tensor y =
        matmul(weight, sampled.reshape({n, groups, channels / groups * taps, rows * columns}))
            .reshape({n, outputs, rows, columns});
    if (x.has(3)) y = add(y, x[3].reshape({outputs, 1, 1}));
    return {y};
  };
}

}  // namespace

void add_vision(Operators& table) {
  table["AffineGrid"] = {affine_grid_of, 2, 2};
  table["Col2Im"] = {col2im_of, 3, 3};
  table["DeformConv"] = {deformed_convolution, 3, 5};
  table["GridSample"] = {grid_sampled, 2, 2};
  table["MaxUnpool"] = {unpooled, 2, 3};
  table["NonMaxSuppression"] = {non_max_suppression, 2, 5, 1, {0, 1, 3, 4}};
  table["RoiAlign"] = {aligned, 3, 3, 1, {1}};
}

}  // namespace aorta::onnx
