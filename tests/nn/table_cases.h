#pragma once

#include <aorta/nn/adaptive_softmax.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/unpooling.h>
#include <aorta/tests/nn/transformer_cases.h>

// Cases of layers_test.cc: tables, blocks, and pooling that is told where to look.

namespace aorta::nn {

template <class M>
Tensors call_unpool(Module& module, const Tensors& inputs) {
  return {dynamic_cast<M&>(module)(inputs.at(0), inputs.at(1))};
}

// The samples of make_nn.py.
template <class M>
Tensors call_fractional(Module& module, const Tensors& inputs) {
  const Tensor& x = inputs.at(0);
  if (!x.defined()) return {module(x)};
  const int64_t n = x.size(0), c = x.size(1), d = x.dim() - 2;
  const Tensor step =
      remainder(arange(n * c * d, {.dtype = x.dtype(), .device = x.device()}) * 7, 11);
  auto& pool = dynamic_cast<M&>(module);
  pool.options.random_samples = ((step + 0.5) / 11).reshape({n, c, d});
  return {pool(x)};
}

inline Tensors call_adaptive(Module& module, const Tensors& inputs) {
  const auto result = dynamic_cast<AdaptiveLogSoftmaxWithLoss&>(module)(inputs.at(0), inputs.at(1));
  return {result.output, result.loss};
}

inline Tensors call_bilinear(Module& module, const Tensors& inputs) {
  return {dynamic_cast<Bilinear&>(module)(inputs.at(0), inputs.at(1))};
}

inline std::vector<Case> tables_and_windows() {
  const auto one = [](Module& module, const Tensors& inputs) -> Tensors {
    return {module(inputs.at(0))};
  };
  const Dims kernel{2, 3}, image{5, 4};
  const FoldOptions blocks{.dilation = {2, 1}, .padding = {1, 2}, .stride = {2, 1}};
  return {
      {"embedding_bag", maker<EmbeddingBag>(false, 7, 3), one},
      {"embedding_bag_max",
       maker<EmbeddingBag>(false, 7, 3,
                           EmbeddingBagOptions{.mode = EmbeddingBagMode::max, .padding_idx = 5}),
       one},
      {"unfold", maker<Unfold>(false, kernel, blocks), one},
      {"fold", maker<Fold>(false, image, kernel, blocks), one},
      {"max_unpool1d", maker<MaxUnpool1d>(false, 2, MaxUnpoolOptions{}), call_unpool<MaxUnpool1d>},
      {"max_unpool2d", maker<MaxUnpool2d>(false, 2, MaxUnpoolOptions{}), call_unpool<MaxUnpool2d>},
      {"max_unpool3d", maker<MaxUnpool3d>(false, 2, MaxUnpoolOptions{}), call_unpool<MaxUnpool3d>},
      {"fractional_max_pool2d",
       maker<FractionalMaxPool2d>(false, kernel, FractionalMaxPoolOptions{.output_size = {3, 2}}),
       call_fractional<FractionalMaxPool2d>},
      {"fractional_max_pool3d",
       maker<FractionalMaxPool3d>(false, 2,
                                  FractionalMaxPoolOptions{.output_ratio = {0.5, 0.6, 0.4}}),
       call_fractional<FractionalMaxPool3d>},
      {"adaptive_log_softmax",
       maker<AdaptiveLogSoftmaxWithLoss>(false, 6, 9, List<int64_t>{2, 5},
                                         AdaptiveLogSoftmaxOptions{.div_value = 2}),
       call_adaptive},
      {"adaptive_log_softmax_bias",
       maker<AdaptiveLogSoftmaxWithLoss>(false, 4, 7, List<int64_t>{3},
                                         AdaptiveLogSoftmaxOptions{.head_bias = true}),
       call_adaptive},
      {"bilinear", maker<Bilinear>(false, 4, 3, 5), call_bilinear},
      {"bilinear_no_bias", maker<Bilinear>(false, 2, 3, 4, LinearOptions{.bias = false}),
       call_bilinear},
  };
}

}  // namespace aorta::nn
