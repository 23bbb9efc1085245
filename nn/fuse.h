#pragma once

#include <aorta/nn/conv.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>

// A layer and the batch normalisation behind it as one layer, for inference, as torch.nn.utils has
// it.

namespace aorta::nn {

namespace detail {
/// Scales and shifts each output as `bn` does in eval mode. A transposed convolution's weight has
/// its outputs in dimension 1, those of each of its groups; other weights have them in front.
void fold_batch_norm(const char* op, const Module& layer, const BatchNorm& bn, Parameter& weight,
                     Parameter& bias, std::optional<int64_t> transposed_groups = {});
}  // namespace detail

/// A copy of the convolution, in eval mode, that gives what bn gives of conv's output: W gamma /
/// sqrt(var + eps), (b - mean) gamma / sqrt(var + eps) + beta. Errors: one of the two is in
/// training, or computes its weight of other tensors; bn has no running statistics, another number
/// of features, or a ReLU of its own.
template <std::derived_from<Conv> C>
C fuse_conv_bn_eval(const C& conv, const BatchNorm& bn) {
  C fused = clone(conv);
  detail::fold_batch_norm("fuse_conv_bn_eval", conv, bn, fused.weight, fused.bias);
  fused.options.bias = true;
  return fused;
}
/// Does the same for a transposed convolution.
template <std::derived_from<ConvTranspose> C>
C fuse_conv_bn_eval(const C& conv, const BatchNorm& bn) {
  C fused = clone(conv);
  detail::fold_batch_norm("fuse_conv_bn_eval", conv, bn, fused.weight, fused.bias,
                          conv.options.groups);
  fused.options.bias = true;
  return fused;
}
/// Does the same for a Linear.
Linear fuse_linear_bn_eval(const Linear& linear, const BatchNorm& bn);

}  // namespace aorta::nn
