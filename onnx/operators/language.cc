#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <cmath>

// Layers of language models: positions, caches, and what stands in attention's place.
namespace aorta::onnx {
namespace {

// Pairs of features turned by the angles of their positions; those behind the turned ones stay.
Run rotary_embedding(const Node& node) {
  const bool interleaved = node.flag("interleaved", false);
  const int64_t given = node.integer("rotary_embedding_dim", 0);
  const int64_t heads = node.integer("num_heads", 0);
  node.check(given >= 0 && given % 2 == 0, "attribute rotary_embedding_dim must be even", given);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 4 || (x[0].dim() == 3 && heads > 0 && x[0].size(2) % heads == 0),
          "RotaryEmbedding", "input must be (N, heads, T, D) or (N, T, heads D)", x[0].shape(),
          " of ", heads, " heads");
    const bool flat = x[0].dim() == 3;
    const Tensor input =  // (N, T, heads, D)
        flat ? x[0].reshape({x[0].size(0), x[0].size(1), heads, x[0].size(2) / heads})
             : x[0].transpose(1, 2);
    const int64_t turned = given == 0 ? input.size(3) : given, half = turned / 2;
    check(turned <= input.size(3) && turned % 2 == 0, "RotaryEmbedding",
          "the turned features must be even, and in the head", turned, " of ", input.size(3));
    const auto angles = [&](size_t i) {
      const Tensor table = x.has(3) ? index(x[i], {Index(x[3])}) : x[i];
      check(table.dim() == 3 && table.size(2) == half, "RotaryEmbedding",
            "angles must be (N, T, D / 2)", table.shape(), " for ", half);
      return table.unsqueeze(2);
    };
    const Tensor cos = angles(1), sin = angles(2);
    const Tensor part = input.narrow(3, 0, turned);
    const Tensor a = interleaved ? part.slice(3, 0, turned, 2) : part.narrow(3, 0, half);
    const Tensor b = interleaved ? part.slice(3, 1, turned, 2) : part.narrow(3, half, half);
    const Tensor real = sub(mul(cos, a), mul(sin, b)), other = add(mul(sin, a), mul(cos, b));
    Tensor y = interleaved ? stack({real, other}, -1).reshape(part.shape()) : cat({real, other}, 3);
    if (turned < input.size(3)) y = cat({y, input.narrow(3, turned, input.size(3) - turned)}, 3);
    return {flat ? y.reshape(x[0].shape()) : y.transpose(1, 2)};
  };
}

Run gated_swish(const Node& node) {
  const double alpha = node.number("alpha", 1);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].shape() == x[1].shape(), "SwiGLU", "inputs must be of one shape", x[0].shape(),
          " and ", x[1].shape());
    return {mul(mul(x[0], sigmoid(mul(x[0], alpha))), x[1])};
  };
}

// A cache with new entries from each sample's place on, along one axis.
Run tensor_scatter(const Node& node) {
  const int64_t given = node.integer("axis", -2);
  const bool circular = node.choice("mode", {"linear", "circular"}) == 1;
  return [=](const Inputs& x) -> Tensors {
    const int axis = wrap_dim("TensorScatter", given, x[0].dim());
    check(axis > 0 && x[1].dim() == x[0].dim() && x[0].size(axis) > 0, "TensorScatter",
          "axis must be another than the batch's", axis, " of ", x[0].shape());
    const int64_t size = x[0].size(axis), batch = x[0].size(0);
    const TensorOptions numbers{.dtype = i64, .device = x[0].device()};
    const Tensor first = x.has(2) ? x[2].to(i64) : zeros({batch}, numbers);
    Tensor places = add(first.unsqueeze(1), arange(x[1].size(axis), numbers));
    if (circular) places = remainder(places, size);
    const Tensor cache = movedim(x[0], axis, 1), update = movedim(x[1], axis, 1);
    const std::vector<Index> at{Index(arange(batch, numbers).unsqueeze(1)), Index(places)};
    return {movedim(index_put(cache, at, update), 1, axis)};
  };
}

// Each channel by its own kernel, over what came before; the last inputs are the next state.
Run causal_convolution(const Node& node) {
  const size_t activation = node.choice("activation", {"none", "silu", "swish"});
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 3 && x[1].dim() == 3 && x[1].size(0) == x[0].size(1) && x[1].size(1) == 1 &&
              x[1].size(2) > 0,
          "CausalConvWithState", "input must be (N, C, T) and weight (C, 1, k)", x[0].shape(),
          " and ", x[1].shape());
    const int64_t before = x[1].size(2) - 1;
    const Tensor all = x.has(3) ? cat({x[3], x[0]}, 2) : pad(x[0], {before, 0});
    Tensor y = conv1d(all, x[1], x.or_none(2), {.groups = x[0].size(1)});
    if (activation != 0) y = silu(y);
    return {y, all.narrow(2, all.size(2) - before, before)};
  };
}

// A state of keys by values, (N, heads, dk, dv), that each step decays, corrects and adds to.
Run linear_attention(const Node& node) {
  const size_t rule = node.choice("update_rule", {"gated_delta", "linear", "gated", "delta"});
  const bool gated = rule == 0 || rule == 2, delta = rule == 0 || rule == 3;
  const int64_t query_heads = node.integer("q_num_heads", 0);
  const int64_t heads = node.integer("kv_num_heads", 0);
  const double given_scale = node.number("scale", 0);
  node.integer("chunk_size", 64);  // how others divide the work
  node.check(query_heads > 0 && heads > 0 && query_heads % heads == 0,
             "query heads must be a multiple of the key heads", query_heads, " and ", heads);
  return [=](const Inputs& x) -> Tensors {
    const DType dtype = x[0].dtype(), precise = is_half(dtype) ? f32 : dtype;
    const auto by_head = [&](size_t i, int64_t count) {  // (T, N, heads, D)
      check(x[i].dim() == 3 && x[i].size(2) % count == 0, "LinearAttention",
            "inputs must be (N, T, heads D)", x[i].shape(), " of ", count, " heads");
      return x[i]
          .to(precise)
          .reshape({x[i].size(0), x[i].size(1), count, x[i].size(2) / count})
          .transpose(0, 1);
    };
    const Tensor q = by_head(0, query_heads), k = by_head(1, heads), v = by_head(2, heads);
    const Tensor decay = gated ? exp(by_head(4, heads)) : Tensor();
    const Tensor rate = delta ? by_head(5, x[5].size(2) == 1 ? 1 : heads) : Tensor();
    const double scale =
        given_scale == 0 ? 1 / std::sqrt(static_cast<double>(q.size(3))) : given_scale;
    const Shape shape{q.size(1), heads, k.size(3), v.size(3)};
    Tensor state =
        x.has(3) ? x[3].to(precise) : zeros(shape, {.dtype = precise, .device = x[0].device()});
    Tensors outputs;
    for (int64_t t = 0; t < q.size(0); ++t) {
      if (gated) state = mul(state, decay[t].unsqueeze(-1));
      Tensor value = v[t].unsqueeze(2);  // (N, heads, 1, dv)
      if (delta) value = mul(sub(value, matmul(k[t].unsqueeze(2), state)), rate[t].unsqueeze(-1));
      state = add(state, mul(k[t].unsqueeze(-1), value));
      const Tensor seen =
          query_heads == heads ? state : repeat_interleave(state, query_heads / heads, 1);
      outputs.push_back(mul(matmul(q[t].unsqueeze(2), seen), scale).flatten(1));
    }
    const Tensor y = outputs.empty() ? zeros({q.size(1), 0, query_heads * v.size(3)},
                                             {.dtype = precise, .device = x[0].device()})
                                     : stack(outputs, 1);
    return {y.to(dtype), state.to(dtype)};
  };
}

}  // namespace

void add_language(Operators& table) {
  table["CausalConvWithState"] = {causal_convolution, 2, 4, 2, {3}};
  table["LinearAttention"] = {linear_attention, 3, 6, 2, {3}};
  table["RotaryEmbedding"] = {rotary_embedding, 3, 4, 1, {1, 2}};
  table["SwiGLU"] = {gated_swish, 2, 2};
  table["TensorScatter"] = {tensor_scatter, 2, 3};
}

}  // namespace aorta::onnx
