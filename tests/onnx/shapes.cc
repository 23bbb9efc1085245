#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/onnx/operators.h>

#include <algorithm>

namespace aorta::onnx {
namespace {

Dims dims_of(const Tensor& numbers) { return Dims(numbers.flatten().to_vector<int64_t>()); }

// 0 keeps the size, unless allowzero.
Tensor reshaped(const Case& c) {
  Dims shape = dims_of(c.inputs[1]);
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !c.integer("allowzero", 0)) shape[i] = c.inputs[0].shape()[i];
  }
  return reshape(c.inputs[0], shape);
}

Tensor flattened(const Case& c) {
  const Tensor& x = c.inputs[0];
  int64_t axis = c.integer("axis", 1);
  if (axis < 0) axis += x.dim();
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= x.shape()[i];
  return reshape(x, {rows, x.numel() / std::max<int64_t>(rows, 1)});
}

// Sizes broadcast both ways.
Tensor expanded(const Case& c) {
  return c.inputs[0].expand(broadcast_shapes("expand", c.inputs[0].shape(), dims_of(c.inputs[1])));
}

// begin_0 begin_1 .. end_0 end_1 .. becomes last dimension first, in pairs.
Tensor padded(const Case& c) {
  const Tensor& x = c.inputs[0];
  const std::vector<int64_t> pads = c.inputs[1].to_vector<int64_t>();
  Dims axes;
  if (c.has(3)) {
    axes = dims_of(c.inputs[3]);
  } else {
    for (int i = 0; i < x.dim(); ++i) axes.push_back(i);
  }
  Dims padding = Dims::filled(2 * x.dim(), 0);
  for (int i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.dim() : axes[i];
    const int place = static_cast<int>(2 * (x.dim() - 1 - axis));
    padding[place] = pads[static_cast<size_t>(i)];
    padding[place + 1] = pads[static_cast<size_t>(i + axes.size())];
  }
  const std::string mode = c.text("mode", "constant");
  const Scalar value = c.has(2) ? c.inputs[2].item() : Scalar(0);
  return pad(x, padding,
             mode == "reflect" ? PadMode::reflect
             : mode == "edge"  ? PadMode::replicate
             : mode == "wrap"  ? PadMode::circular
                               : PadMode::constant,
             value);
}

// A negative step reads the flipped dimension: position i of it is size - 1 - i.
Tensor sliced(const Case& c) {
  Tensor x = c.inputs[0];
  const std::vector<int64_t> starts = c.inputs[1].to_vector<int64_t>();
  const std::vector<int64_t> ends = c.inputs[2].to_vector<int64_t>();
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = c.has(3) ? c.inputs[3].to_vector<int64_t>()[i] : static_cast<int64_t>(i);
    const int64_t step = c.has(4) ? c.inputs[4].to_vector<int64_t>()[i] : 1;
    const int64_t size = x.size(axis);
    if (step > 0) {
      x = x.slice(axis, starts[i], ends[i], step);
      continue;
    }
    const auto wrap = [&](int64_t k) {
      return std::clamp<int64_t>(k < 0 ? k + size : k, -1, size - 1);
    };
    x = flip(x, {axis}).slice(axis, size - 1 - wrap(starts[i]), size - 1 - wrap(ends[i]), -step);
  }
  return x;
}

Tensors parts(const Case& c) {
  const Tensor& x = c.inputs[0];
  const int64_t axis = c.integer("axis", 0);
  if (c.has(1)) return split(x, c.inputs[1].to_vector<int64_t>(), axis);
  const int64_t count = c.integer("num_outputs", static_cast<int64_t>(c.outputs));
  return split(x, (x.size(axis) + count - 1) / count, axis);
}

Tensor without_ones(const Case& c) {
  Dims axes = dims_of(c.inputs[1]);
  for (int64_t& axis : axes) axis += axis < 0 ? c.inputs[0].dim() : 0;
  std::sort(axes.begin(), axes.end());
  Tensor x = c.inputs[0];
  for (int i = axes.size(); i-- > 0;) x = squeeze(x, axes[i]);
  return x;
}

Tensor with_ones(const Case& c) {
  Dims axes = dims_of(c.inputs[1]);
  for (int64_t& axis : axes) axis += axis < 0 ? c.inputs[0].dim() + axes.size() : 0;
  std::sort(axes.begin(), axes.end());
  Tensor x = c.inputs[0];
  for (int64_t axis : axes) x = unsqueeze(x, axis);
  return x;
}

Tensor permuted(const Case& c) {
  Dims order;
  for (int i = c.inputs[0].dim(); i-- > 0;) order.push_back(i);
  if (c.attributes.contains("perm")) order = Dims(c.attributes["perm"].get<std::vector<int64_t>>());
  return permute(c.inputs[0], order);
}

Tensor shape_of(const Case& c) {
  const Tensor all =
      tensor(std::vector<int64_t>(c.inputs[0].shape().begin(), c.inputs[0].shape().end()));
  return all.slice(0, c.integer("start", 0), c.integer("end", INT64_MAX));
}

Tensor range(const Case& c) {
  return arange(c.inputs[0].item(), c.inputs[1].item(), c.inputs[2].item(),
                {.dtype = c.inputs[0].dtype()});
}

Tensor triangle(const Case& c) {
  const int64_t diagonal = c.has(1) ? c.inputs[1].item<int64_t>() : 0;
  return c.integer("upper", 1) ? triu(c.inputs[0], diagonal) : tril(c.inputs[0], diagonal);
}

Tensor identity(const Case& c) {
  const Tensor& x = c.inputs[0];
  return eye(x.size(0), x.size(1), {.dtype = c.integer("dtype", 0) == 11 ? f64 : x.dtype()});
}

// on at the index, off elsewhere, along a new axis.
Tensor one_hot_of(const Case& c) {
  const int64_t depth = c.inputs[1].item<int64_t>();
  const Tensor places = remainder(c.inputs[0].to(i64), depth);
  const Tensor hot = movedim(one_hot(places, depth), -1, c.integer("axis", -1));
  return where(ne(hot, 0), c.inputs[2][1], c.inputs[2][0]);
}

Tensor scatter_elements(const Case& c) {
  const int64_t axis = c.integer("axis", 0);
  const Tensor places = remainder(c.inputs[1], c.inputs[0].size(axis));
  const std::string how = c.text("reduction", "none");
  if (how == "none") return scatter(c.inputs[0], axis, places, c.inputs[2]);
  return scatter_reduce(c.inputs[0], axis, places, c.inputs[2],
                        how == "max"   ? ScatterReduce::amax
                        : how == "min" ? ScatterReduce::amin
                        : how == "mul" ? ScatterReduce::prod
                                       : ScatterReduce::sum);
}

// The last dimension of the index names places in the first dimensions of the table.
Tensors scatter_nd(const Case& c) {
  std::vector<Index> places;
  for (const Tensor& column : unbind(c.inputs[1], -1)) places.emplace_back(column);
  const std::string how = c.text("reduction", "none");
  if (how == "none" || how == "add")
    return {index_put(c.inputs[0], places, c.inputs[2], how == "add")};
  // One index: max along the first dimension.
  const Tensor rows = c.inputs[1].view({-1, 1, 1}).expand(c.inputs[2].shape());
  return {scatter_reduce(c.inputs[0], 0, rows, c.inputs[2], ScatterReduce::amax)};
}

// index_select takes one dimension of indices; index takes any.
Tensor gathered(const Case& c) {
  int64_t axis = c.integer("axis", 0);
  if (axis < 0) axis += c.inputs[0].dim();
  std::vector<Index> places(static_cast<size_t>(axis), Index(Slice{}));
  places.emplace_back(c.inputs[1]);
  return index(c.inputs[0], places);
}

Operator one(Tensor (*f)(const Case&)) {
  return {[f](const Case& c) -> Tensors { return {f(c)}; }};
}

}  // namespace

void add_shapes(Operators& table) {
  table["Concat"] = {
      [](const Case& c) -> Tensors { return {cat(c.inputs, c.integer("axis", 0))}; }};
  table["Expand"] = one(expanded);
  table["EyeLike"] = one(identity);
  table["Flatten"] = one(flattened);
  table["Pad"] = one(padded);
  table["Range"] = one(range);
  table["Reshape"] = one(reshaped);
  table["Shape"] = one(shape_of);
  table["Slice"] = one(sliced);
  table["Split"] = {parts};
  table["Squeeze"] = one(without_ones);
  table["Tile"] = {
      [](const Case& c) -> Tensors { return {tile(c.inputs[0], dims_of(c.inputs[1]))}; }};
  table["Transpose"] = one(permuted);
  table["Trilu"] = one(triangle);
  table["Unsqueeze"] = one(with_ones);
}

void add_indexing(Operators& table) {
  table["Gather"] = one(gathered);
  table["GatherElements"] = {[](const Case& c) -> Tensors {
    return {take_along_dim(c.inputs[0], c.inputs[1], c.integer("axis", 0))};
  }};
  table["NonZero"] = {[](const Case& c) -> Tensors { return {nonzero(c.inputs[0]).t()}; }};
  table["OneHot"] = one(one_hot_of);
  table["ScatterElements"] = one(scatter_elements);
  table["ScatterND"] = {scatter_nd};
}

const Operators& operators() {
  static const Operators table = [] {
    Operators all;
    add_pointwise(all);
    add_reductions(all);
    add_shapes(all);
    add_indexing(all);
    add_normalization(all);
    add_pooling(all);
    add_convolution(all);
    add_losses(all);
    add_layers(all);
    add_recurrent(all);
    add_optimizers(all);
    return all;
  }();
  return table;
}

}  // namespace aorta::onnx
