#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/nn/fuse.h>
#include <aorta/nn/parametrize.h>

namespace aorta::nn {

void detail::fold_batch_norm(const char* op, const Module& layer, const BatchNorm& bn,
                             Parameter& weight, Parameter& bias,
                             std::optional<int64_t> transposed_groups) {
  const int outputs = transposed_groups ? 1 : 0;
  const int64_t groups = transposed_groups.value_or(1);
  check(!layer.is_training() && !bn.is_training(), op, "both must be in eval mode",
        "one in training");
  check(!is_parametrized(layer) && !is_parametrized(bn), op,
        "both must hold their parameters; see remove_parametrizations", "a parametrized one");
  check(bn.running_mean.defined() && !bn.options.relu, op,
        "the normalisation must have running statistics and no ReLU", bn.extra_repr());
  const int64_t features = weight.size(outputs) * groups;
  check(bn.num_features == features, op, "the normalisation must be of the layer's outputs",
        bn.num_features, " features for ", features);
  const NoGradGuard no_grad;
  Tensor scale = rsqrt(bn.running_var + bn.options.eps);
  if (bn.weight.defined()) scale = scale * bn.weight;
  Tensor shift = -bn.running_mean * scale;
  if (bias.defined()) shift = shift + bias * scale;
  if (bn.bias.defined()) shift = shift + bn.bias;
  Shape parts{groups, weight.size(0) / groups}, channels{groups, 1};
  for (int d = 1; d < weight.dim(); ++d) {
    parts.push_back(weight.size(d));
    channels.push_back(1);
  }
  channels[outputs + 1] = weight.size(outputs);
  const Tensor factors = scale.to(weight.dtype()).view(channels);
  weight = (weight.reshape(parts) * factors).reshape(weight.shape());
  bias = shift.to(weight.dtype());
}

Linear fuse_linear_bn_eval(const Linear& linear, const BatchNorm& bn) {
  Linear fused = clone(linear);
  detail::fold_batch_norm("fuse_linear_bn_eval", linear, bn, fused.weight, fused.bias);
  return fused;
}

}  // namespace aorta::nn
