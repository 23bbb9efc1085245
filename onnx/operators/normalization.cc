#include <aorta/core/ops/normalization.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

namespace aorta::onnx {
namespace {

double eps_of(const Node& node) { return node.number("epsilon", 1e-5); }

// Statistics of half types are f32's, here and there.
void check_stash_type(const Node& node) {
  const int64_t type = node.integer("stash_type", 1);
  node.check(type == 1, "attribute stash_type must be 1, float32", type);
}

struct RunningStatistics {
  Tensor mean, var;
};

// ONNX's momentum says what is kept, and the running variance takes the biased one.
RunningStatistics next_statistics(const Inputs& x, double kept) {
  Dims dims{0};
  for (int d = 2; d < x[0].dim(); ++d) dims.push_back(d);
  const VarMean batch = var_mean(summable(x[0].detach()), dims, 0);
  const auto mixed = [&](const Tensor& old, const Tensor& now) {
    return add(mul(old.detach(), kept), mul(now, 1 - kept)).to(old.dtype());
  };
  return {mixed(x[3], batch.mean), mixed(x[4], batch.var)};
}

Run batch(const Node& node) {
  const double eps = eps_of(node), kept = node.number("momentum", 0.9);
  const bool by_file = node.opset() >= 14 && node.flag("training_mode", false);
  const bool by_channel = node.opset() >= 9 || node.flag("spatial", true);
  node.check(by_file || node.outputs() == 1, "statistics must be outputs in training_mode alone",
             node.outputs(), " outputs");
  // What a caller gives, another node makes or a Constant holds stays as it is.
  const bool moves = node.is_buffer(3) && node.is_buffer(4);
  const auto of_channels = [=](const Inputs& x) -> Tensors {
    const BatchNormFuncOptions training{.training = true, .momentum = 1 - kept, .eps = eps};
    if (!by_file && !x.training()) return {batch_norm(x[0], x[3], x[4], x[1], x[2], {.eps = eps})};
    // The network's own statistics move on as nn::BatchNorm's do.
    if (!by_file && moves) return {batch_norm(x[0], x[3], x[4], x[1], x[2], training)};
    Tensor y = batch_norm(x[0], {}, {}, x[1], x[2], training);
    if (!by_file) return {y};
    const RunningStatistics next = next_statistics(x, kept);
    if (x.training() && moves) {
      const NoGradGuard no_grad;
      x[3].copy_(next.mean);
      x[4].copy_(next.var);
    }
    return {y, next.mean, next.var};
  };
  if (by_channel) return of_channels;
  // Each element has statistics of its own, as if it were a channel.
  return [=](const Inputs& x) -> Tensors {
    Values flat;
    for (size_t i = 0; i < x.size(); ++i) flat.push_back(x[i].flatten(i == 0 ? 1 : 0));
    return {of_channels(Inputs(flat, x.training()))[0].reshape(x[0].shape())};
  };
}

Dims dims_from(const char* op, int64_t axis, const Tensor& x) {
  Dims dims;
  for (int64_t d = wrap_dim(op, axis, x.dim()); d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

Shape sizes_of(const Tensor& x, const Dims& dims) {
  Shape shape;
  for (const int64_t d : dims) shape.push_back(x.size(d));
  return shape;
}

// Scale and bias broadcast to the normalised shape.
Tensor stretched(const Inputs& x, size_t i, const Shape& shape) {
  if (!x.has(i) || x[i].shape() == shape) return x.or_none(i);
  return x[i].expand(shape);
}

// The statistics come out too: the mean, and the inverse of the deviation.
Run layer(const Node& node) {
  check_stash_type(node);
  const int64_t axis = node.integer("axis", -1);
  const double eps = eps_of(node);
  const bool statistics = node.outputs() > 1;
  return [=](const Inputs& x) -> Tensors {
    const Dims dims = dims_from("LayerNormalization", axis, x[0]);
    const Shape shape = sizes_of(x[0], dims);
    const Tensor y = layer_norm(x[0], shape, stretched(x, 1, shape), stretched(x, 2, shape), eps);
    if (!statistics) return {y};
    const Tensor z = summable(x[0]);
    return {y, mean(z, dims, true), rsqrt(add(var(z, dims, 0, true), eps))};
  };
}

Run root_mean_square(const Node& node) {
  check_stash_type(node);
  const int64_t axis = node.integer("axis", -1);
  const double eps = eps_of(node);
  return [=](const Inputs& x) -> Tensors {
    const Shape shape = sizes_of(x[0], dims_from("RMSNormalization", axis, x[0]));
    return {rms_norm(x[0], shape, stretched(x, 1, shape), eps)};
  };
}

// Scale and bias are of the groups up to operator set 20, then of the channels.
Run group(const Node& node) {
  if (node.opset() >= 21) check_stash_type(node);
  node.check(node.has("num_groups"), "attribute num_groups must be given", "none");
  const int64_t groups = node.integer("num_groups", 1);
  node.check(groups > 0, "attribute num_groups must be positive", groups);
  const double eps = eps_of(node);
  const bool of_groups = node.opset() < 21;
  return [=](const Inputs& x) -> Tensors {
    const auto by_channel = [&](const Tensor& t) {
      return of_groups ? repeat_interleave(t, x[0].size(1) / groups) : t;
    };
    return {group_norm(x[0], groups, by_channel(x[1]), by_channel(x[2]), eps)};
  };
}

// As groups of one channel, which may have one position.
Run instance(const Node& node) {
  const double eps = eps_of(node);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() >= 2 && x[0].size(1) > 0, "InstanceNormalization",
          "input must be (N, C, ...) with channels", x[0].shape());
    return {group_norm(x[0], x[0].size(1), x[1], x[2], eps)};
  };
}

// x / (bias + alpha / size * the sum of the squares of `size` channels around)^beta.
Run local_response(const Node& node) {
  const double alpha = node.number("alpha", 1e-4), beta = node.number("beta", 0.75);
  const double bias = node.number("bias", 1);
  node.check(node.has("size"), "attribute size must be given", "none");
  const int64_t size = node.integer("size", 1);
  node.check(size > 0, "attribute size must be positive", size);
  return [=](const Inputs& x) -> Tensors {
    const int64_t before = (size - 1) / 2;
    const Tensor input = summable(x[0]);
    const Tensor squares = input.square().flatten(2).unsqueeze(1);  // (N, 1, C, positions)
    const Tensor around =
        avg_pool2d(pad(squares, {0, 0, before, size - 1 - before}), {size, 1}, {1, 1});
    const Tensor divisor = pow(add(mul(around, alpha), bias), beta).reshape(x[0].shape());
    return {div(input, divisor).to(x[0].dtype())};
  };
}

Run mean_variance(const Node& node) {
  const std::vector<int64_t> given = node.integers("axes");
  const Dims axes = node.has("axes") ? Dims(given) : Dims{0, 2, 3};
  return [=](const Inputs& x) -> Tensors {
    const Tensor input = summable(x[0]);
    const VarMean of = var_mean(input, axes, 0, true);
    return {div(sub(input, of.mean), add(sqrt(of.var), 1e-9)).to(x[0].dtype())};
  };
}

}  // namespace

void add_normalization(Operators& table) {
  table["BatchNormalization"] = {batch, 5, 5, 3, {3, 4}};
  table["GroupNormalization"] = {group, 3, 3};
  table["InstanceNormalization"] = {instance, 3, 3};
  table["LayerNormalization"] = {layer, 2, 3, 3};
  table["LRN"] = {local_response};
  table["MeanVarianceNormalization"] = {mean_variance};
  table["RMSNormalization"] = {root_mean_square, 2, 2};
}

}  // namespace aorta::onnx
