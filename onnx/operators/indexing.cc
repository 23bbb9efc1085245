#include <aorta/core/ops/indexing.h>

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

namespace aorta::onnx {
namespace {

// index_select takes one dimension of indices; index takes any.
Run gathered(const Node& node) {
  const int64_t given = node.integer("axis", 0);
  return [=](const Inputs& x) -> Tensors {
    const int axis = wrap_dim("Gather", given, x[0].dim());
    std::vector<Index> places(static_cast<size_t>(axis), Index(Slice{}));
    places.emplace_back(x[1]);
    return {index(x[0], places)};
  };
}

// Places counted from the front, where they are there; what is out of range stays so.
Tensor from_front(const Tensor& places, int64_t size) {
  return where(lt(places, 0), add(places, size), places);
}

Run gather_elements(const Node& node) {
  const int64_t axis = node.integer("axis", 0);
  return [=](const Inputs& x) -> Tensors {
    return {gather(x[0], axis, from_front(x[1], x[0].size(axis)))};
  };
}

// The last dimension of the index names places in the first dimensions of the input, behind those
// of the batch.
Run gather_nd(const Node& node) {
  const int64_t batch = node.integer("batch_dims", 0);
  return [=](const Inputs& x) -> Tensors {
    check(batch >= 0 && batch < x[1].dim() && batch < x[0].dim(), "GatherND",
          "batch_dims must be fewer than the dimensions", batch);
    std::vector<Index> places;
    const TensorOptions numbers{.dtype = i64, .device = x[0].device()};
    for (int d = 0; d < batch; ++d) {
      Shape shape = Dims::filled(x[1].dim() - 1, 1);
      shape[d] = x[1].size(d);
      places.emplace_back(arange(x[1].size(d), numbers).view(shape));
    }
    for (const Tensor& column : unbind(x[1], -1)) places.emplace_back(column);
    return {index(x[0], places)};
  };
}

std::optional<ScatterReduce> reduction_of(const Node& node) {
  constexpr ScatterReduce kReductions[] = {ScatterReduce::sum, ScatterReduce::prod,
                                           ScatterReduce::amax, ScatterReduce::amin};
  const size_t choice = node.choice("reduction", {"none", "add", "mul", "max", "min"});
  if (choice == 0) return {};
  return kReductions[choice - 1];
}

Run scatter_elements(const Node& node) {
  const int64_t axis = node.integer("axis", 0);
  const std::optional<ScatterReduce> reduction = reduction_of(node);
  return [=](const Inputs& x) -> Tensors {
    const Tensor places = from_front(x[1], x[0].size(axis));
    if (!reduction) return {scatter(x[0], axis, places, x[2])};
    return {scatter_reduce(x[0], axis, places, x[2], *reduction)};
  };
}

// Each row of the index names a place in the first dimensions of the input, or a block there. As
// one dimension of blocks, and their numbers.
Run scatter_nd(const Node& node) {
  const std::optional<ScatterReduce> reduction = reduction_of(node);
  return [=](const Inputs& x) -> Tensors {
    if (!reduction) {
      std::vector<Index> places;
      for (const Tensor& column : unbind(x[1], -1)) places.emplace_back(column);
      return {index_put(x[0], places, x[2])};
    }
    const int64_t depth = x[1].size(-1);
    check(depth >= 1 && depth <= x[0].dim(), "ScatterND",
          "indices must name places of the input's dimensions", x[1].shape(), " for ",
          x[0].shape());
    Tensor block = zeros({}, {.dtype = i64, .device = x[0].device()});
    int64_t blocks = 1;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t size = x[0].size(d);
      const Tensor place = x[1].select(-1, d);
      check(!any(logical_or(lt(place, -size), ge(place, size))).item<bool>(), "ScatterND",
            "indices must lie in the input", "another in dimension ", d, " of size ", size);
      block = add(mul(block, size), remainder(place, size));
      blocks *= size;
    }
    const int64_t elements = blocks == 0 ? 0 : x[0].numel() / blocks;
    const Tensor index = block.reshape({-1, 1}).expand({block.numel(), elements});
    const Tensor updates = x[2].reshape({block.numel(), elements});
    return {scatter_reduce(x[0].reshape({blocks, elements}), 0, index, updates, *reduction)
                .reshape(x[0].shape())};
  };
}

// on at the index, off elsewhere, along a new axis; an index out of range is nowhere.
Run one_hot_of(const Node& node) {
  const int64_t axis = node.integer("axis", -1);
  return [=](const Inputs& x) -> Tensors {
    const int64_t depth = x[1].flatten()[0].item<int64_t>();
    const Tensor given = x[0].to(i64);
    const Tensor places = where(lt(given, 0), add(given, depth), given).unsqueeze(-1);
    const Tensor hot =
        eq(places, arange(depth, TensorOptions{.dtype = i64, .device = x[0].device()}));
    return {where(movedim(hot, -1, axis), x[2][1], x[2][0])};
  };
}

Run compress(const Node& node) {
  const bool flat = !node.has("axis");
  const int64_t given = node.integer("axis", 0);
  return [=](const Inputs& x) -> Tensors {
    const Tensor from = flat ? x[0].flatten() : x[0];
    const Tensor chosen = nonzero(x[1]).flatten();
    return {index_select(from, flat ? 0 : given, chosen)};
  };
}

Run reverse_sequence(const Node& node) {
  const int64_t batch = node.integer("batch_axis", 1), time = node.integer("time_axis", 0);
  node.check((batch == 0 && time == 1) || (batch == 1 && time == 0),
             "batch_axis and time_axis must be 0 and 1", batch, " and ", time);
  return [=](const Inputs& x) -> Tensors {
    if (time == 0) return {reversed_in_time(x[0], x[1].to(i64))};
    return {reversed_in_time(x[0].transpose(0, 1), x[1].to(i64)).transpose(0, 1)};
  };
}

}  // namespace

Tensor reversed_in_time(const Tensor& x, const Tensor& lengths) {
  const TensorOptions numbers{.dtype = i64, .device = x.device()};
  const Tensor t = arange(x.size(0), numbers).unsqueeze(1);
  const Tensor places = where(lt(t, lengths), sub(sub(lengths, 1), t), t);
  return index(x, {Index(places), Index(arange(x.size(1), numbers).unsqueeze(0))});
}

void add_indexing(Operators& table) {
  table["Compress"] = {compress, 2, 2};
  table["Gather"] = {gathered, 2, 2};
  table["GatherElements"] = {gather_elements, 2, 2};
  table["GatherND"] = {gather_nd, 2, 2};
  table["NonZero"] = {[](const Node&) -> Run {
    return [](const Inputs& x) -> Tensors { return {nonzero(x[0]).t()}; };
  }};
  table["OneHot"] = {one_hot_of, 3, 3, 1, {1, 2}};
  table["ReverseSequence"] = {reverse_sequence, 2, 2};
  table["Scatter"] = {scatter_elements, 3, 3};
  table["ScatterElements"] = {scatter_elements, 3, 3};
  table["ScatterND"] = {scatter_nd, 3, 3};
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
    add_resizing(all);
    add_convolution(all);
    add_losses(all);
    add_layers(all);
    add_recurrent(all);
    add_control(all);
    add_sequences(all);
    add_signals(all);
    add_quantized(all);
    add_vision(all);
    add_language(all);
    return all;
  }();
  return table;
}

}  // namespace aorta::onnx
