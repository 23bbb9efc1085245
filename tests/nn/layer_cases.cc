#include <aorta/tests/nn/attention_cases.h>
#include <aorta/tests/nn/layer_cases.h>
#include <aorta/tests/nn/option_cases.h>
#include <aorta/tests/nn/parametrized_cases.h>
#include <aorta/tests/nn/sequence_cases.h>
#include <aorta/tests/nn/table_cases.h>

#include <algorithm>

namespace aorta::nn {
namespace {

template <class M, class... Arguments>
Case make_case(const std::string& name, Arguments... arguments) {
  return {name, maker<M>(false, arguments...), call_one};
}

// What is random in training.
template <class M, class... Arguments>
Case in_eval_mode(const std::string& name, Arguments... arguments) {
  return {name, maker<M>(true, arguments...), call_one};
}

std::vector<Case> convolutions() {
  const Dims k32{3, 2}, k43{4, 3}, k232{2, 3, 2};
  return {
      make_case<Conv1d>("conv1d", 4, 6, 3, ConvOptions{.stride = 2, .padding = 1}),
      make_case<Conv2d>(
          "conv2d", 4, 6, k32,
          ConvOptions{.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}),
      make_case<Conv2d>("conv2d_same", 3, 4, k43, ConvOptions{.padding = "same", .bias = false}),
      make_case<Conv2d>("conv2d_reflect", 3, 4, 3,
                        ConvOptions{.padding = {2, 1}, .padding_mode = PadMode::reflect}),
      make_case<Conv2d>("conv2d_replicate_same", 3, 4, k43,
                        ConvOptions{.padding = "same", .padding_mode = PadMode::replicate}),
      make_case<Conv2d>("conv2d_circular", 3, 4, 3,
                        ConvOptions{.stride = 2, .padding = 2, .padding_mode = PadMode::circular}),
      make_case<Conv2d>("conv2d_unbatched", 3, 4, 3),
      make_case<Conv3d>("conv3d", 2, 3, k232, ConvOptions{.padding = 1}),
      make_case<ConvTranspose1d>(
          "conv_transpose1d", 4, 6, 3,
          ConvTransposeOptions{.stride = 2, .padding = 1, .output_padding = 1}),
      make_case<ConvTranspose2d>(
          "conv_transpose2d", 4, 6, k32,
          ConvTransposeOptions{.stride = 2, .groups = 2, .dilation = {2, 1}}),
      make_case<ConvTranspose3d>("conv_transpose3d", 2, 3, 2,
                                 ConvTransposeOptions{.stride = {1, 2, 1}, .bias = false}),
  };
}

std::vector<Case> pools() {
  const Dims k32{3, 2}, size2{2, -1}, size3{3, 2, -1};
  return {
      make_case<MaxPool1d>("max_pool1d", 3, MaxPoolOptions{.stride = 2, .padding = 1}),
      make_case<MaxPool2d>("max_pool2d", k32,
                           MaxPoolOptions{.stride = 2, .dilation = {1, 2}, .ceil_mode = true}),
      make_case<MaxPool3d>("max_pool3d", 2),
      make_case<AvgPool1d>("avg_pool1d", 3,
                           AvgPoolOptions{.stride = 2, .padding = 1, .count_include_pad = false}),
      make_case<AvgPool2d>("avg_pool2d", k32, AvgPoolOptions{.padding = 1, .ceil_mode = true}),
      make_case<AvgPool3d>("avg_pool3d", 2, AvgPoolOptions{.divisor_override = 3}),
      make_case<LPPool1d>("lp_pool1d", 2, 3),
      make_case<LPPool2d>("lp_pool2d", 3, k32, LPPoolOptions{.stride = 2, .ceil_mode = true}),
      make_case<LPPool3d>("lp_pool3d", 2, 2),
      make_case<AdaptiveMaxPool1d>("adaptive_max_pool1d", 3),
      make_case<AdaptiveMaxPool2d>("adaptive_max_pool2d", size2),
      make_case<AdaptiveMaxPool3d>("adaptive_max_pool3d", size3),
      make_case<AdaptiveAvgPool1d>("adaptive_avg_pool1d", 3),
      make_case<AdaptiveAvgPool2d>("adaptive_avg_pool2d", size2),
      make_case<AdaptiveAvgPool3d>("adaptive_avg_pool3d", size3),
  };
}

std::vector<Case> norms() {
  return {
      make_case<BatchNorm1d>("batch_norm1d", 4),
      make_case<BatchNorm1d>("batch_norm1d_length", 4,
                             BatchNormOptions{.eps = 1e-3, .momentum = 0.3}),
      make_case<BatchNorm2d>("batch_norm2d", 4),
      make_case<BatchNorm2d>("batch_norm2d_cumulative", 4,
                             BatchNormOptions{.momentum = std::nullopt}),
      make_case<BatchNorm2d>("batch_norm2d_no_affine", 4, BatchNormOptions{.affine = false}),
      make_case<BatchNorm2d>("batch_norm2d_no_tracking", 4,
                             BatchNormOptions{.track_running_stats = false}),
      make_case<BatchNorm3d>("batch_norm3d", 2),
      make_case<LayerNorm>("layer_norm", Shape{4, 5}),
      make_case<LayerNorm>("layer_norm_no_bias", 5, LayerNormOptions{.eps = 1e-3, .bias = false}),
      make_case<LayerNorm>("layer_norm_no_affine", 5,
                           LayerNormOptions{.elementwise_affine = false}),
      make_case<RMSNorm>("rms_norm", 5, RMSNormOptions{.eps = 1e-6}),
      make_case<LocalResponseNorm>("local_response_norm", 2),
      make_case<LocalResponseNorm>("local_response_norm_wide", 5,
                                   LocalResponseNormOptions{.alpha = 0.5, .beta = 1.25, .k = 2}),
      make_case<GroupNorm>("group_norm", 2, 6),
      make_case<InstanceNorm1d>("instance_norm1d", 3),
      make_case<InstanceNorm1d>("instance_norm1d_unbatched", 3),
      make_case<InstanceNorm2d>("instance_norm2d", 3,
                                InstanceNormOptions{.affine = true, .track_running_stats = true}),
      make_case<InstanceNorm3d>("instance_norm3d", 2, InstanceNormOptions{.affine = true}),
  };
}

std::vector<Case> paddings() {
  const Dims ends1{2, 1}, ends2{2, 1, 0, 3}, ends3{1, 2, 2, 0, 1, 1};
  return {
      make_case<ConstantPad1d>("constant_pad1d", ends1, 3.5),
      make_case<ConstantPad2d>("constant_pad2d", ends2, 3.5),
      make_case<ConstantPad3d>("constant_pad3d", ends3, 3.5),
      make_case<ConstantPad2d>("constant_pad2d_alike", 2, -1.0),
      make_case<ZeroPad1d>("zero_pad1d", ends1),
      make_case<ZeroPad2d>("zero_pad2d", ends2),
      make_case<ZeroPad3d>("zero_pad3d", ends3),
      make_case<ReflectionPad1d>("reflection_pad1d", ends1),
      make_case<ReflectionPad2d>("reflection_pad2d", ends2),
      make_case<ReflectionPad3d>("reflection_pad3d", ends3),
      make_case<ReflectionPad2d>("reflection_pad2d_alike", 2),
      make_case<ReplicationPad1d>("replication_pad1d", ends1),
      make_case<ReplicationPad2d>("replication_pad2d", ends2),
      make_case<ReplicationPad3d>("replication_pad3d", ends3),
      make_case<CircularPad1d>("circular_pad1d", ends1),
      make_case<CircularPad2d>("circular_pad2d", ends2),
      make_case<CircularPad3d>("circular_pad3d", ends3),
      make_case<ReplicationPad2d>("replication_pad2d_unbatched", ends2),
  };
}

std::vector<Case> others() {
  return {
      make_case<Linear>("linear", 5, 3),
      make_case<Linear>("linear_no_bias", 5, 3, LinearOptions{.bias = false}),
      make_case<Linear>("linear_unbatched", 5, 3),
      make_case<Embedding>("embedding", 7, 3),
      make_case<Embedding>("embedding_padding", 7, 3, EmbeddingOptions{.padding_idx = -2}),
      make_case<Upsample>("upsample_nearest", InterpolateOptions{.scale_factor = {2}}),
      make_case<Upsample>("upsample_bilinear", InterpolateOptions{.size = {5, 7},
                                                                  .mode = InterpolateMode::bilinear,
                                                                  .align_corners = true}),
      make_case<Identity>("identity"),
      in_eval_mode<Dropout>("dropout_eval"),
      in_eval_mode<Dropout1d>("dropout1d_eval"),
      in_eval_mode<Dropout2d>("dropout2d_eval"),
      in_eval_mode<Dropout3d>("dropout3d_eval"),
      make_case<Flatten>("flatten"),
      make_case<Unflatten>("unflatten", 1, Shape{2, -1}),
      make_case<PixelShuffle>("pixel_shuffle", 2),
      make_case<PixelUnshuffle>("pixel_unshuffle", 3),
      make_case<ChannelShuffle>("channel_shuffle", 3),
      in_eval_mode<AlphaDropout>("alpha_dropout_eval"),
      in_eval_mode<FeatureAlphaDropout>("feature_alpha_dropout_eval"),
  };
}

std::vector<Case> activations() {
  return {
      make_case<ReLU>("relu"),
      make_case<ReLU6>("relu6"),
      make_case<SELU>("selu"),
      make_case<SiLU>("silu"),
      make_case<Mish>("mish"),
      make_case<Hardsigmoid>("hardsigmoid"),
      make_case<Hardswish>("hardswish"),
      make_case<Sigmoid>("sigmoid"),
      make_case<Tanh>("tanh"),
      make_case<LogSigmoid>("logsigmoid"),
      make_case<Softsign>("softsign"),
      make_case<Tanhshrink>("tanhshrink"),
      make_case<LeakyReLU>("leaky_relu", 0.2),
      make_case<ELU>("elu", 1.5),
      make_case<CELU>("celu", 1.5),
      make_case<GELU>("gelu"),
      make_case<GELU>("gelu_tanh", GeluApproximation::tanh),
      make_case<Hardtanh>("hardtanh", -0.5, 2),
      make_case<Hardshrink>("hardshrink", 0.3),
      make_case<Softshrink>("softshrink", 0.3),
      make_case<Softplus>("softplus", 2, 1),
      make_case<Threshold>("threshold", 0.1, 5),
      make_case<GLU>("glu", 1),
      make_case<Softmax>("softmax", 1),
      make_case<Softmin>("softmin", 1),
      make_case<LogSoftmax>("log_softmax", 1),
      make_case<Softmax2d>("softmax2d"),
      make_case<PReLU>("prelu"),
      in_eval_mode<RReLU>("rrelu_eval", 0.1, 0.4),
      make_case<PReLU>("prelu_channels", PReLUOptions{.num_parameters = 4, .init = 0.1}),
  };
}

}  // namespace

std::vector<Case> layer_cases() {
  std::vector<Case> cases;
  for (const auto& family :
       {convolutions(), pools(), norms(), sequences(), attention_cases(), transformers(),
        paddings(), others(), activations(), tables_and_windows(), parametrizations(),
        orthogonal_matrices(), normed_options(), windowed_options(), other_options()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

const Fixture& layer_fixtures() {
  static const Fixture all = [] {
    Fixture both = read_fixture("layers");
    both.merge(read_fixture("layer_options"));
    return both;
  }();
  return all;
}

NamedTensors state_of(const Fixture& fixture) {
  NamedTensors state;
  for (const auto& [key, value] : part(fixture, "state")) {
    state.emplace_back(key.substr(key.find('/') + 1), value);
  }
  return state;
}

Tensors as_leaves(const Tensors& values, DType dtype, Device device) {
  Tensors leaves;
  for (const Tensor& value : values) {
    if (is_floating(value.dtype()))
      leaves.push_back(value.to({.dtype = dtype, .device = device, .copy = true}).requires_grad_());
    else
      leaves.push_back(value.to(device));
  }
  return leaves;
}

AnyModule loaded_layer(const Maker& make, const Fixture& fixture, DType dtype) {
  AnyModule module = make();
  module->to(DType::f64);
  module->load_state_dict(state_of(fixture));
  module->to(dtype);
  return module;
}

std::string layer_difference(const Case& one, const Maker& make, DType dtype, Device device) {
  const Fixture fixture = part(layer_fixtures(), one.name);
  double tolerance = dtype == DType::f64 ? 1e-12 : 2e-5;
  // PyTorch multiplies the gradient by 1/6 rounded to f32.
  if (one.name == "hardsigmoid") tolerance = std::max(tolerance, 1e-7);
  std::string text;
  const auto compare = [&](const Tensor& got, const Tensor& wanted, const std::string& what) {
    const auto result = near(got, wanted, tolerance);
    if (!result) text += what + ": " + result.message() + "\n";
  };
  const AnyModule module = loaded_layer(make, fixture, dtype);
  module->to(device);
  const Tensors inputs = as_leaves(numbered(fixture, "in"), dtype, device);
  const Tensors outputs = one.call(*module, inputs);
  const Tensors wanted = numbered(fixture, "out"), gradients = numbered(fixture, "g");
  if (outputs.size() != wanted.size()) return "other outputs";
  Tensor total = zeros({}, {.dtype = dtype, .device = device});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].device() != device) text += "an output is on another device\n";
    compare(outputs[i], wanted[i], "output " + std::to_string(i));
    total = total + sum(outputs[i] * gradients[i].to(dtype).to(device));
  }
  total.backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = fixture.find("din" + std::to_string(i));
    if (found != fixture.end())
      compare(inputs[i].grad(), found->second, "gradient " + std::to_string(i));
  }
  for (const auto& [name, parameter] : module->named_parameters())
    compare(parameter.grad(), fixture.at("dparam/" + name), name);
  if (module->named_parameters().size() != part(fixture, "dparam").size()) text += "parameters\n";
  for (const auto& [name, buffer] : module->named_buffers())
    compare(buffer, fixture.at("after/" + name), name);
  module->eval();
  const Tensors after = one.call(*module, inputs), evaluated = numbered(fixture, "eval");
  for (size_t i = 0; i < after.size(); ++i)
    compare(after[i], evaluated[i], "eval output " + std::to_string(i));
  return text;
}

}  // namespace aorta::nn
