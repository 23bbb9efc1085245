#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators/window.h>

#include <algorithm>
#include <limits>

namespace aorta::onnx {
namespace {

// 0 keeps the size, unless allowzero.
Run reshaped(const Node& node) {
  const bool allow_zero = node.flag("allowzero", false);
  return [=](const Inputs& x) -> Tensors {
    Dims shape = x.integers(1);
    for (int i = 0; i < shape.size(); ++i) {
      if (shape[i] != 0 || allow_zero) continue;
      check(i < x[0].dim(), "Reshape", "a size of 0 must stand for one of the input's", shape,
            " of ", x[0].shape());
      shape[i] = x[0].shape()[i];
    }
    return {reshape(x[0], shape)};
  };
}

Run flattened(const Node& node) {
  const int64_t given = node.integer("axis", 1);
  return [=](const Inputs& x) -> Tensors {
    const int axis = given == x[0].dim() ? x[0].dim() : wrap_dim("Flatten", given, x[0].dim());
    int64_t rows = 1, columns = 1;
    for (int i = 0; i < x[0].dim(); ++i) (i < axis ? rows : columns) *= x[0].shape()[i];
    return {reshape(x[0], {rows, columns})};
  };
}

// Sizes broadcast both ways.
Tensors expanded(const Inputs& x) {
  return {x[0].expand(broadcast_shapes("Expand", x[0].shape(), x.integers(1)))};
}

// begin_0 begin_1 .. end_0 end_1 .. becomes last dimension first, in pairs; less than 0 cuts off.
Tensor pad_by(Tensor x, const Dims& axes, const std::vector<int64_t>& pads, PadMode mode,
              const Scalar& value) {
  check(pads.size() == 2 * static_cast<size_t>(axes.size()), "Pad",
        "pads must be two for each axis", pads.size(), " for ", axes.size());
  Dims padding = Dims::filled(2 * x.dim(), 0);
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = wrap_dim("Pad", axes[i], x.dim());
    const int64_t before = pads[static_cast<size_t>(i)];
    const int64_t after = pads[static_cast<size_t>(i + axes.size())];
    constexpr int64_t kLimit = int64_t{1} << 48;
    check(std::min(before, after) > -kLimit && std::max(before, after) < kLimit, "Pad",
          "pads must be within 2^48", before, " and ", after);
    const int64_t first = std::max<int64_t>(-before, 0), cut = std::max<int64_t>(-after, 0);
    check(first + cut <= x.size(axis), "Pad", "pads below 0 must cut off no more than there is",
          before, " and ", after, " of ", x.size(axis));
    x = x.slice(axis, first, x.size(axis) - cut);
    padding[2 * (x.dim() - 1 - axis)] = std::max<int64_t>(before, 0);
    padding[2 * (x.dim() - 1 - axis) + 1] = std::max<int64_t>(after, 0);
  }
  // The dimensions in front that stay are left out: modes that read the edge take few.
  while (padding.size() > 2 && padding[padding.size() - 1] == 0 && padding[padding.size() - 2] == 0)
    padding.resize(padding.size() - 2);
  if (std::all_of(padding.begin(), padding.end(), [](int64_t size) { return size == 0; })) return x;
  return pad(x, padding, mode, value);
}

Dims all_axes(const Tensor& x) {
  Dims axes;
  for (int i = 0; i < x.dim(); ++i) axes.push_back(i);
  return axes;
}

Run padded(const Node& node) {
  constexpr PadMode kModes[] = {PadMode::constant, PadMode::reflect, PadMode::replicate,
                                PadMode::circular};
  const PadMode mode = kModes[node.choice("mode", {"constant", "reflect", "edge", "wrap"})];
  if (node.opset() < 11) {
    const std::vector<int64_t> pads = node.integers("pads");
    const double value = node.number("value", 0);
    return [=](const Inputs& x) -> Tensors {
      return {pad_by(x[0], all_axes(x[0]), pads, mode, value)};
    };
  }
  return [mode](const Inputs& x) -> Tensors {
    const Dims axes = x.has(3) ? Dims(x.integers(3)) : all_axes(x[0]);
    const Scalar value = x.has(2) ? x[2].item() : Scalar(0);
    return {pad_by(x[0], axes, x.integers(1), mode, value)};
  };
}

// A negative step reads the flipped dimension: position i of it is size - 1 - i.
Tensor slice_along(const Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  check(step != 0, "Slice", "steps must not be 0", step);
  if (step > 0) return x.slice(axis, start, end, step);
  const int64_t size = x.size(axis);
  const auto place = [&](int64_t k) {
    return std::clamp<int64_t>(k < 0 ? std::max<int64_t>(k, -size - 1) + size : k, -1, size - 1);
  };
  const int64_t least = -std::numeric_limits<int64_t>::max();
  return flip(x, {axis}).slice(axis, size - 1 - place(start), size - 1 - place(end),
                               -std::max(step, least));
}

Tensor sliced(Tensor x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
              std::vector<int64_t> axes, std::vector<int64_t> steps) {
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  check(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      "Slice", "starts, ends, axes and steps must be equally many", starts.size(), ", ",
      ends.size(), ", ", axes.size(), ", ", steps.size());
  for (size_t i = 0; i < starts.size(); ++i)
    x = slice_along(x, axes[i], starts[i], ends[i], steps[i]);
  return x;
}

Run slice_of(const Node& node) {
  if (node.opset() < 10) {
    const std::vector<int64_t> starts = node.integers("starts"), ends = node.integers("ends");
    const std::vector<int64_t> axes = node.integers("axes");
    return [=](const Inputs& x) -> Tensors { return {sliced(x[0], starts, ends, axes, {})}; };
  }
  return [](const Inputs& x) -> Tensors {
    using Numbers = std::vector<int64_t>;
    return {sliced(x[0], x.integers(1), x.integers(2), x.has(3) ? x.integers(3) : Numbers(),
                   x.has(4) ? x.integers(4) : Numbers())};
  };
}

Run split_of(const Node& node) {
  const int64_t axis = node.integer("axis", 0);
  const std::vector<int64_t> sizes = node.integers("split");
  const auto outputs = static_cast<int64_t>(node.outputs());
  const int64_t count = node.integer("num_outputs", outputs);
  node.check(count == outputs, "attribute num_outputs must be the outputs' number", count, " of ",
             outputs);
  return [=](const Inputs& x) -> Tensors {
    const int64_t size = x[0].size(axis), even = divide_up(size, count);
    std::vector<int64_t> given = x.has(1) ? x.integers(1) : sizes;
    for (int64_t i = 0; !x.has(1) && sizes.empty() && i < count; ++i)
      given.push_back(std::clamp<int64_t>(size - i * even, 0, even));
    return split(x[0], given, axis);
  };
}

// The axes of an attribute in old operator sets, of the second input in new ones; sorted, those
// from the end counted in `ndim`.
Dims axes_of(const char* op, const Inputs& x, const std::vector<int64_t>& given, int64_t ndim) {
  Dims axes = x.has(1) ? Dims(x.integers(1)) : Dims(given);
  for (int64_t& axis : axes) axis = wrap_dim(op, axis, static_cast<int>(ndim));
  std::sort(axes.begin(), axes.end());
  check(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), op, "axes must differ", axes);
  return axes;
}

Run without_ones(const Node& node) {
  const std::vector<int64_t> given = node.integers("axes");
  return [=](const Inputs& x) -> Tensors {
    const Dims axes = axes_of("Squeeze", x, given, x[0].dim());
    if (axes.empty() && !x.has(1)) return {squeeze(x[0])};
    Tensor y = x[0];
    for (int i = axes.size(); i-- > 0;) {
      check(y.size(axes[i]) == 1, "Squeeze", "sizes must be 1", y.shape(), " at ", axes[i]);
      y = squeeze(y, axes[i]);
    }
    return {y};
  };
}

Run with_ones(const Node& node) {
  const std::vector<int64_t> given = node.integers("axes");
  return [=](const Inputs& x) -> Tensors {
    const auto count = static_cast<int64_t>(x.has(1) ? x[1].numel() : given.size());
    Tensor y = x[0];
    for (const int64_t axis : axes_of("Unsqueeze", x, given, x[0].dim() + count))
      y = unsqueeze(y, axis);
    return {y};
  };
}

Run permuted(const Node& node) {
  const bool reversed = !node.has("perm");
  const std::vector<int64_t> given = node.integers("perm");
  return [=](const Inputs& x) -> Tensors {
    Dims order = given;
    for (int i = x[0].dim(); reversed && i-- > 0;) order.push_back(i);
    return {permute(x[0], order)};
  };
}

Run shape_of(const Node& node) {
  const int64_t start = node.integer("start", 0);
  const int64_t end = node.integer("end", std::numeric_limits<int64_t>::max());
  return [=](const Inputs& x) -> Tensors {
    const Shape& shape = x[0].shape();
    const std::vector<int64_t> sizes(shape.begin(), shape.end());
    return {tensor(sizes, TensorOptions{.device = x[0].device()}).slice(0, start, end)};
  };
}

Tensors size_of(const Inputs& x) {
  return {full({}, x[0].numel(), {.dtype = i64, .device = x[0].device()})};
}

Run range(const Node& node) {
  node.integer("stash_type", 1);  // of half types, which are counted in f32 here too
  return [](const Inputs& x) -> Tensors {
    const TensorOptions options{.dtype = x[0].dtype(), .device = x[0].device()};
    const Scalar start = x[0].item(), limit = x[1].item(), delta = x[2].item();
    // Where delta leads away from the limit, there is nothing to count.
    if (delta.to_double() > 0 ? limit.to_double() < start.to_double()
                              : limit.to_double() > start.to_double())
      return {zeros({0}, options)};
    return {arange(start, limit, delta, options)};
  };
}

Run triangle(const Node& node) {
  const bool upper = node.flag("upper", true);
  return [=](const Inputs& x) -> Tensors {
    const int64_t diagonal = x.has(1) ? x[1].item<int64_t>() : 0;
    return {upper ? triu(x[0], diagonal) : tril(x[0], diagonal)};
  };
}

Run identity_like(const Node& node) {
  const std::optional<DType> dtype = node.dtype("dtype");
  const int64_t k = node.integer("k", 0);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 2, "EyeLike", "input must be a matrix", x[0].shape());
    const int64_t rows = x[0].size(0), columns = x[0].size(1);
    const TensorOptions places{.dtype = i64, .device = x[0].device()};
    const Tensor on = eq(add(arange(rows, places).unsqueeze(1), k), arange(columns, places));
    return {on.to(dtype.value_or(x[0].dtype()))};
  };
}

Run filled(const Node& node) {
  const Tensor value = node.has("value") ? node.tensor("value") : zeros({1});
  node.check(value.numel() == 1, "attribute value must be one number", value.shape());
  return [=](const Inputs& x) -> Tensors {
    return {full(Shape(x.integers(0)), value.item(),
                 {.dtype = value.dtype(), .device = x[0].device()})};
  };
}

Run concatenated(const Node& node) {
  node.check(node.has("axis"), "attribute axis must be given", "none");
  const int64_t axis = node.integer("axis", 0);
  return [=](const Inputs& x) -> Tensors { return {cat(List<Tensor>(x.all()), axis)}; };
}

Tensors tiled(const Inputs& x) { return {tile(x[0], x.integers(1))}; }

int64_t block_size(const Node& node) {
  const int64_t size = node.integer("blocksize", 0);
  node.check(size > 0 && size < 1 << 15, "attribute blocksize must be 1 to 32767", size);
  return size;
}

// (N, C, H, W) to (N, C / b^2, H b, W b): the channels are places in a block first, or last.
Run depth_to_space(const Node& node) {
  const int64_t b = block_size(node);
  const bool columns_first = node.choice("mode", {"DCR", "CRD"}) == 1;
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 4 && x[0].size(1) % (b * b) == 0, "DepthToSpace",
          "input must be (N, C, H, W) with whole blocks of channels", x[0].shape());
    const int64_t n = x[0].size(0), c = x[0].size(1) / (b * b), h = x[0].size(2), w = x[0].size(3);
    const Tensor y = columns_first ? permute(reshape(x[0], {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                                   : permute(reshape(x[0], {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2});
    check(std::max(h, w) < kMostPlaces, "DepthToSpace", "sizes must be below 2^31", x[0].shape());
    return {reshape(y, {n, c, h * b, w * b})};
  };
}

Run space_to_depth(const Node& node) {
  const int64_t b = block_size(node);
  const bool columns_first = node.choice("mode", {"DCR", "CRD"}) == 1;
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 4 && x[0].size(2) % b == 0 && x[0].size(3) % b == 0, "SpaceToDepth",
          "input must be (N, C, H, W) with whole blocks", x[0].shape());
    check(x[0].size(1) < kMostPlaces, "SpaceToDepth", "channels must be below 2^31", x[0].shape());
    const int64_t n = x[0].size(0), c = x[0].size(1), h = x[0].size(2) / b, w = x[0].size(3) / b;
    const Tensor blocks = reshape(x[0], {n, c, h, b, w, b});
    return {reshape(
        columns_first ? permute(blocks, {0, 1, 3, 5, 2, 4}) : permute(blocks, {0, 3, 5, 1, 2, 4}),
        {n, c * b * b, h, w})};
  };
}

// Cut or padded around the middle.
Run center_crop_pad(const Node& node) {
  const bool all = !node.has("axes");
  const std::vector<int64_t> given = node.integers("axes");
  return [=](const Inputs& x) -> Tensors {
    const std::vector<int64_t> wanted = x.integers(1);
    const Dims axes = all ? all_axes(x[0]) : Dims(given);
    check(wanted.size() == static_cast<size_t>(axes.size()), "CenterCropPad",
          "shape must have a size for each axis", wanted.size(), " for ", axes.size());
    std::vector<int64_t> pads(wanted.size() * 2);
    for (size_t i = 0; i < wanted.size(); ++i) {
      check(wanted[i] >= 0, "CenterCropPad", "sizes must not be negative", wanted[i]);
      const int64_t more = wanted[i] - x[0].size(axes[static_cast<int>(i)]);
      // An odd one is cut off, or put, at the end: where it is cut the start loses the half that
      // was rounded down.
      pads[i] = more / 2;
      pads[i + wanted.size()] = more - more / 2;
    }
    return {pad_by(x[0], axes, pads, PadMode::constant, 0)};
  };
}

template <Tensors (*f)(const Inputs&)>
Run plain(const Node&) {
  return f;
}

}  // namespace

void add_shapes(Operators& table) {
  table["CenterCropPad"] = {center_crop_pad, 2, 2};
  table["Concat"] = {concatenated, 1, kAnyNumber};
  table["ConstantOfShape"] = {filled};
  table["DepthToSpace"] = {depth_to_space};
  table["Expand"] = {plain<expanded>, 2, 2};
  table["EyeLike"] = {identity_like};
  table["Flatten"] = {flattened};
  table["Pad"] = {padded, 1, 4, 1, {2}};
  table["Range"] = {range, 3, 3, 1, {0, 1, 2}};
  table["Reshape"] = {reshaped, 2, 2};
  table["Shape"] = {shape_of};
  table["Size"] = {plain<size_of>};
  table["Slice"] = {slice_of, 1, 5};
  table["SpaceToDepth"] = {space_to_depth};
  table["Split"] = {split_of, 1, 2, kAnyNumber};
  table["Squeeze"] = {without_ones, 1, 2};
  table["Tile"] = {plain<tiled>, 2, 2};
  table["Transpose"] = {permuted};
  table["Trilu"] = {triangle, 1, 2};
  table["Unsqueeze"] = {with_ones, 1, 2};
}

}  // namespace aorta::onnx
