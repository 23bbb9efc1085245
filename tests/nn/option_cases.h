#pragma once

#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/unpooling.h>
#include <aorta/tests/nn/parametrized_cases.h>
#include <aorta/tests/nn/sequence_cases.h>
#include <aorta/tests/nn/table_cases.h>

// Cases of layers_test.cc: the options that its others leave at their defaults.

namespace aorta::nn {

template <class M, class... Arguments>
Case one_input(const std::string& name, const Arguments&... arguments) {
  return {name, maker<M>(false, arguments...), call_one};
}

inline std::vector<Case> normed_options() {
  const InstanceNormOptions instances{
      .eps = 1e-2, .momentum = 0.3, .affine = true, .track_running_stats = true, .bias = false};
  const BatchNormOptions plain{.affine = false, .track_running_stats = false};
  return {
      one_input<BatchNorm1d>("batch_norm1d_plain", 4, plain),
      one_input<BatchNorm1d>("batch_norm1d_no_bias", 4, BatchNormOptions{.bias = false}),
      one_input<BatchNorm2d>("batch_norm2d_no_bias", 3,
                             BatchNormOptions{.eps = 1e-2, .bias = false}),
      one_input<BatchNorm3d>("batch_norm3d_options", 2,
                             BatchNormOptions{.eps = 1e-2, .momentum = 0.3, .bias = false}),
      one_input<BatchNorm3d>("batch_norm3d_plain", 2, plain),
      one_input<InstanceNorm1d>("instance_norm1d_options", 3, instances),
      one_input<InstanceNorm2d>("instance_norm2d_options", 3, instances),
      one_input<InstanceNorm3d>("instance_norm3d_options", 2, instances),
      one_input<GroupNorm>("group_norm_no_bias", 2, 4,
                           GroupNormOptions{.eps = 1e-2, .bias = false}),
      one_input<GroupNorm>("group_norm_plain", 2, 4, GroupNormOptions{.affine = false}),
      one_input<RMSNorm>("rms_norm_plain", 5, RMSNormOptions{.elementwise_affine = false}),
  };
}

inline std::vector<Case> windowed_options() {
  const AvgPoolOptions inside{
      .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false};
  const MaxUnpoolOptions unpooled{.stride = 3, .padding = 1};
  return {
      one_input<AvgPool1d>("avg_pool1d_ceil", 2, AvgPoolOptions{.ceil_mode = true}),
      one_input<AvgPool2d>("avg_pool2d_inside", 3, inside),
      one_input<AvgPool2d>("avg_pool2d_divisor", 2, AvgPoolOptions{.divisor_override = 3}),
      one_input<AvgPool3d>("avg_pool3d_inside", 3, inside),
      one_input<MaxPool1d>("max_pool1d_options", 2,
                           MaxPoolOptions{.stride = 2, .dilation = 2, .ceil_mode = true}),
      one_input<MaxPool2d>("max_pool2d_padded", 3, MaxPoolOptions{.stride = 2, .padding = 1}),
      one_input<MaxPool3d>(
          "max_pool3d_options", 3,
          MaxPoolOptions{.stride = 2, .padding = 1, .dilation = {1, 2, 1}, .ceil_mode = true}),
      one_input<LPPool1d>("lp_pool1d_options", 3, 3, LPPoolOptions{.stride = 2, .ceil_mode = true}),
      one_input<LPPool3d>("lp_pool3d_options", 3, 3, LPPoolOptions{.stride = 2, .ceil_mode = true}),
      {"max_unpool1d_options", maker<MaxUnpool1d>(false, 2, unpooled), call_unpool<MaxUnpool1d>},
      {"max_unpool2d_options", maker<MaxUnpool2d>(false, 2, unpooled), call_unpool<MaxUnpool2d>},
      {"max_unpool3d_options", maker<MaxUnpool3d>(false, 2, unpooled), call_unpool<MaxUnpool3d>},
      {"fractional_max_pool2d_ratio",
       maker<FractionalMaxPool2d>(false, 2, FractionalMaxPoolOptions{.output_ratio = {0.5, 0.6}}),
       call_fractional<FractionalMaxPool2d>},
      {"fractional_max_pool3d_size",
       maker<FractionalMaxPool3d>(false, 2, FractionalMaxPoolOptions{.output_size = {2, 3, 2}}),
       call_fractional<FractionalMaxPool3d>},
      one_input<Conv1d>("conv1d_options", 4, 6, 3,
                        ConvOptions{.padding = 2,
                                    .dilation = 2,
                                    .groups = 2,
                                    .bias = false,
                                    .padding_mode = PadMode::reflect}),
      one_input<Conv3d>("conv3d_options", 2, 4, 2,
                        ConvOptions{.stride = {2, 1, 2},
                                    .padding = 1,
                                    .dilation = {1, 2, 1},
                                    .groups = 2,
                                    .bias = false,
                                    .padding_mode = PadMode::circular}),
      one_input<ConvTranspose1d>(
          "conv_transpose1d_options", 4, 6, 3,
          ConvTransposeOptions{.stride = 2, .groups = 2, .bias = false, .dilation = 2}),
      one_input<ConvTranspose2d>(
          "conv_transpose2d_options", 2, 3, 3,
          ConvTransposeOptions{.stride = 2, .padding = 1, .output_padding = {1, 0}, .bias = false}),
      one_input<ConvTranspose3d>("conv_transpose3d_options", 2, 4, 2,
                                 ConvTransposeOptions{.stride = 2,
                                                      .padding = 1,
                                                      .output_padding = {1, 0, 1},
                                                      .groups = 2,
                                                      .dilation = {2, 1, 1}}),
  };
}

inline std::vector<Case> other_options() {
  const auto call_bag = [](Module& module, const Tensors& inputs) -> Tensors {
    return {dynamic_cast<EmbeddingBag&>(module)(
        inputs.at(0),
        tensor({0, 3, 4, 7}, {.device = inputs[0].defined() ? inputs[0].device() : Device()}))};
  };
  const TransformerEncoderLayerOptions wide{.dim_feedforward = 6,
                                            .dropout = 0,
                                            .activation = TransformerActivation::gelu,
                                            .layer_norm_eps = 1e-2};
  return {
      one_input<Embedding>(
          "embedding_options", 7, 3,
          EmbeddingOptions{.max_norm = 0.5, .norm_type = 1, .scale_grad_by_freq = true}),
      {"embedding_bag_options",
       maker<EmbeddingBag>(false, 7, 3,
                           EmbeddingBagOptions{.mode = EmbeddingBagMode::sum,
                                               .include_last_offset = true,
                                               .max_norm = 0.5,
                                               .norm_type = 1,
                                               .scale_grad_by_freq = true}),
       call_bag},
      {"gru_options",
       maker<GRU>(false, 4, 3, RecurrentOptions{.bias = false, .bidirectional = true}), call_gru},
      {"gru_cell_no_bias", maker<GRUCell>(false, 4, 3, RecurrentCellOptions{.bias = false}),
       call_cell<GRUCell>},
      {"lstm_no_bias", maker<LSTM>(false, 4, 3, RecurrentOptions{.bias = false}), call_lstm},
      {"rnn_batch_first", maker<RNN>(false, 4, 3, RNNOptions{.batch_first = true}), call_rnn},
      {"transformer_batch_first",
       maker<Transformer>(false, TransformerOptions{.d_model = 4,
                                                    .nhead = 2,
                                                    .num_encoder_layers = 1,
                                                    .num_decoder_layers = 1,
                                                    .dim_feedforward = 6,
                                                    .dropout = 0,
                                                    .layer_norm_eps = 1e-2,
                                                    .batch_first = true}),
       call_transformer},
      {"encoder_layer_eps",
       maker<TransformerEncoderLayer>(
           false, 6, 2,
           TransformerEncoderLayerOptions{.dim_feedforward = 8,
                                          .dropout = 0,
                                          .activation = TransformerActivation::gelu,
                                          .layer_norm_eps = 1e-2}),
       call_encoder},
      {"decoder_layer_eps", maker<TransformerDecoderLayer>(false, 4, 2, wide),
       call_decoder<TransformerDecoderLayer>},
      one_input<Upsample>("upsample_recomputed",
                          InterpolateOptions{.scale_factor = {1.7},
                                             .mode = InterpolateMode::bilinear,
                                             .recompute_scale_factor = true}),
      one_input<Upsample>(
          "upsample_smooth",
          InterpolateOptions{.size = {3, 4}, .mode = InterpolateMode::bicubic, .antialias = true}),
      {"spectral_norm_linear", spectral_normed<Linear>({.eps = 0.6}, 4, 3), call_one},
  };
}

}  // namespace aorta::nn
