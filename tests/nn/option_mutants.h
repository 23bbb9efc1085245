#pragma once

#include <aorta/aorta.h>
#include <aorta/nn/adaptive_softmax.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/unpooling.h>
#include <gtest/gtest.h>

#include <cxxabi.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <string>
#include <tuple>
#include <typeinfo>
#include <vector>

// Layers and losses that ignore one of their options: what they are made with, but for a field that
// has its default.

namespace aorta::nn {

/// The fields of what is given as options, in the header's order.
template <class Options>
inline constexpr std::tuple<> fields_of{};
template <>
inline constexpr std::tuple fields_of<PReLUOptions>{&PReLUOptions::num_parameters,
                                                    &PReLUOptions::init};
template <>
inline constexpr std::tuple fields_of<AdaptiveLogSoftmaxOptions>{
    &AdaptiveLogSoftmaxOptions::div_value, &AdaptiveLogSoftmaxOptions::head_bias};
template <>
inline constexpr std::tuple fields_of<MultiheadAttentionOptions>{
    &MultiheadAttentionOptions::dropout,     &MultiheadAttentionOptions::bias,
    &MultiheadAttentionOptions::add_bias_kv, &MultiheadAttentionOptions::add_zero_attn,
    &MultiheadAttentionOptions::batch_first, &MultiheadAttentionOptions::kdim,
    &MultiheadAttentionOptions::vdim};
template <>
inline constexpr std::tuple fields_of<TransformerEncoderLayerOptions>{
    &TransformerEncoderLayerOptions::dim_feedforward,
    &TransformerEncoderLayerOptions::dropout,
    &TransformerEncoderLayerOptions::activation,
    &TransformerEncoderLayerOptions::layer_norm_eps,
    &TransformerEncoderLayerOptions::batch_first,
    &TransformerEncoderLayerOptions::norm_first,
    &TransformerEncoderLayerOptions::bias};
template <>
inline constexpr std::tuple fields_of<TransformerOptions>{&TransformerOptions::d_model,
                                                          &TransformerOptions::nhead,
                                                          &TransformerOptions::num_encoder_layers,
                                                          &TransformerOptions::num_decoder_layers,
                                                          &TransformerOptions::dim_feedforward,
                                                          &TransformerOptions::dropout,
                                                          &TransformerOptions::activation,
                                                          &TransformerOptions::layer_norm_eps,
                                                          &TransformerOptions::batch_first,
                                                          &TransformerOptions::norm_first,
                                                          &TransformerOptions::bias};
template <>
inline constexpr std::tuple fields_of<ConvOptions>{
    &ConvOptions::stride, &ConvOptions::padding, &ConvOptions::dilation,
    &ConvOptions::groups, &ConvOptions::bias,    &ConvOptions::padding_mode};
template <>
inline constexpr std::tuple fields_of<ConvTransposeOptions>{
    &ConvTransposeOptions::stride,         &ConvTransposeOptions::padding,
    &ConvTransposeOptions::output_padding, &ConvTransposeOptions::groups,
    &ConvTransposeOptions::bias,           &ConvTransposeOptions::dilation};
template <>
inline constexpr std::tuple fields_of<DropoutOptions>{&DropoutOptions::p, &DropoutOptions::inplace};
template <>
inline constexpr std::tuple fields_of<EmbeddingOptions>{
    &EmbeddingOptions::padding_idx, &EmbeddingOptions::max_norm, &EmbeddingOptions::norm_type,
    &EmbeddingOptions::scale_grad_by_freq, &EmbeddingOptions::sparse};
template <>
inline constexpr std::tuple fields_of<EmbeddingBagOptions>{
    &EmbeddingBagOptions::mode,        &EmbeddingBagOptions::include_last_offset,
    &EmbeddingBagOptions::padding_idx, &EmbeddingBagOptions::max_norm,
    &EmbeddingBagOptions::norm_type,   &EmbeddingBagOptions::scale_grad_by_freq,
    &EmbeddingBagOptions::sparse};
template <>
inline constexpr std::tuple fields_of<FoldOptions>{&FoldOptions::dilation, &FoldOptions::padding,
                                                   &FoldOptions::stride};
template <>
inline constexpr std::tuple fields_of<FractionalMaxPoolOptions>{
    &FractionalMaxPoolOptions::output_size, &FractionalMaxPoolOptions::output_ratio,
    &FractionalMaxPoolOptions::random_samples};
template <>
inline constexpr std::tuple fields_of<LinearOptions>{&LinearOptions::bias};
template <>
inline constexpr std::tuple fields_of<MaxPoolOptions>{
    &MaxPoolOptions::stride, &MaxPoolOptions::padding, &MaxPoolOptions::dilation,
    &MaxPoolOptions::ceil_mode};
template <>
inline constexpr std::tuple fields_of<AvgPoolOptions>{
    &AvgPoolOptions::stride, &AvgPoolOptions::padding, &AvgPoolOptions::ceil_mode,
    &AvgPoolOptions::count_include_pad, &AvgPoolOptions::divisor_override};
template <>
inline constexpr std::tuple fields_of<LPPoolOptions>{&LPPoolOptions::stride,
                                                     &LPPoolOptions::ceil_mode};
template <>
inline constexpr std::tuple fields_of<MaxUnpoolOptions>{&MaxUnpoolOptions::stride,
                                                        &MaxUnpoolOptions::padding};
template <>
inline constexpr std::tuple fields_of<InterpolateOptions>{
    &InterpolateOptions::size,
    &InterpolateOptions::scale_factor,
    &InterpolateOptions::mode,
    &InterpolateOptions::align_corners,
    &InterpolateOptions::recompute_scale_factor,
    &InterpolateOptions::antialias};
template <>
inline constexpr std::tuple fields_of<BatchNormOptions>{
    &BatchNormOptions::eps,    &BatchNormOptions::momentum,
    &BatchNormOptions::affine, &BatchNormOptions::track_running_stats,
    &BatchNormOptions::bias,   &BatchNormOptions::relu};
template <>
inline constexpr std::tuple fields_of<InstanceNormOptions>{
    &InstanceNormOptions::eps, &InstanceNormOptions::momentum, &InstanceNormOptions::affine,
    &InstanceNormOptions::track_running_stats, &InstanceNormOptions::bias};
template <>
inline constexpr std::tuple fields_of<LayerNormOptions>{
    &LayerNormOptions::eps, &LayerNormOptions::elementwise_affine, &LayerNormOptions::bias};
template <>
inline constexpr std::tuple fields_of<GroupNormOptions>{
    &GroupNormOptions::eps, &GroupNormOptions::affine, &GroupNormOptions::bias};
template <>
inline constexpr std::tuple fields_of<RMSNormOptions>{&RMSNormOptions::eps,
                                                      &RMSNormOptions::elementwise_affine};
template <>
inline constexpr std::tuple fields_of<LocalResponseNormOptions>{&LocalResponseNormOptions::alpha,
                                                                &LocalResponseNormOptions::beta,
                                                                &LocalResponseNormOptions::k};
template <>
inline constexpr std::tuple fields_of<RecurrentOptions>{
    &RecurrentOptions::num_layers, &RecurrentOptions::bias,          &RecurrentOptions::batch_first,
    &RecurrentOptions::dropout,    &RecurrentOptions::bidirectional, &RecurrentOptions::proj_size};
template <>
inline constexpr std::tuple fields_of<RNNOptions>{
    &RNNOptions::num_layers,  &RNNOptions::nonlinearity, &RNNOptions::bias,
    &RNNOptions::batch_first, &RNNOptions::dropout,      &RNNOptions::bidirectional};
template <>
inline constexpr std::tuple fields_of<RecurrentCellOptions>{&RecurrentCellOptions::bias};
template <>
inline constexpr std::tuple fields_of<RNNCellOptions>{&RNNCellOptions::bias,
                                                      &RNNCellOptions::nonlinearity};
template <>
inline constexpr std::tuple fields_of<WeightNormOptions>{&WeightNormOptions::name,
                                                         &WeightNormOptions::dim};
template <>
inline constexpr std::tuple fields_of<SpectralNormOptions>{
    &SpectralNormOptions::name, &SpectralNormOptions::n_power_iterations, &SpectralNormOptions::eps,
    &SpectralNormOptions::dim};
template <>
inline constexpr std::tuple fields_of<OrthogonalOptions>{&OrthogonalOptions::name,
                                                         &OrthogonalOptions::orthogonal_map,
                                                         &OrthogonalOptions::use_trivialization};

template <>
inline constexpr std::tuple fields_of<BceOptions>{&BceOptions::weight, &BceOptions::reduction};
template <>
inline constexpr std::tuple fields_of<BceWithLogitsOptions>{&BceWithLogitsOptions::weight,
                                                            &BceWithLogitsOptions::reduction,
                                                            &BceWithLogitsOptions::pos_weight};
template <>
inline constexpr std::tuple fields_of<CrossEntropyOptions>{
    &CrossEntropyOptions::weight, &CrossEntropyOptions::ignore_index,
    &CrossEntropyOptions::reduction, &CrossEntropyOptions::label_smoothing};
template <>
inline constexpr std::tuple fields_of<NllLossOptions>{
    &NllLossOptions::weight, &NllLossOptions::ignore_index, &NllLossOptions::reduction};
template <>
inline constexpr std::tuple fields_of<DiceOptions>{&DiceOptions::smooth, &DiceOptions::reduction};
template <>
inline constexpr std::tuple fields_of<FocalOptions>{&FocalOptions::alpha, &FocalOptions::gamma,
                                                    &FocalOptions::reduction};
template <>
inline constexpr std::tuple fields_of<TripletMarginOptions>{
    &TripletMarginOptions::margin, &TripletMarginOptions::p, &TripletMarginOptions::eps,
    &TripletMarginOptions::swap, &TripletMarginOptions::reduction};
template <>
inline constexpr std::tuple fields_of<TripletMarginWithDistanceOptions>{
    &TripletMarginWithDistanceOptions::distance_function, &TripletMarginWithDistanceOptions::margin,
    &TripletMarginWithDistanceOptions::swap, &TripletMarginWithDistanceOptions::reduction};
template <>
inline constexpr std::tuple fields_of<MultiMarginOptions>{
    &MultiMarginOptions::p, &MultiMarginOptions::margin, &MultiMarginOptions::weight,
    &MultiMarginOptions::reduction};
template <>
inline constexpr std::tuple fields_of<MultiLabelSoftMarginOptions>{
    &MultiLabelSoftMarginOptions::weight, &MultiLabelSoftMarginOptions::reduction};
template <>
inline constexpr std::tuple fields_of<PoissonNllOptions>{
    &PoissonNllOptions::log_input, &PoissonNllOptions::full, &PoissonNllOptions::eps,
    &PoissonNllOptions::reduction};
template <>
inline constexpr std::tuple fields_of<GaussianNllOptions>{
    &GaussianNllOptions::full, &GaussianNllOptions::eps, &GaussianNllOptions::reduction};

inline std::string short_name(const std::type_info& type) {
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr);
  const std::string name = text;
  std::free(text);
  return name.substr(name.rfind(':') + 1);
}

/// The names of the fields, as a header declares them, each with a default.
inline std::vector<std::string> field_names(const std::string& options) {
  std::vector<std::string> names;
  for (const char* folder : {"nn", "core/ops"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::ifstream stream(file.path());
      bool inside = false;
      for (std::string line; std::getline(stream, line);) {
        if (line == "struct " + options + " {") inside = true;
        if (line == "};") inside = false;
        const std::string code = line.substr(0, line.find("//"));
        static const std::regex field("(\\w+) = ");
        for (std::sregex_iterator at(code.begin(), code.end(), field), end; inside && at != end;
             ++at)
          names.push_back((*at)[1]);
      }
    }
  }
  return names;
}

/// What make(arguments...) gives where it ignores something that it is given.
template <class Made>
struct OptionMutant {
  std::string ignored;
  std::function<Made()> make;
};

/// One for each field of each argument that is options.
template <class Make, class... Arguments>
auto option_mutants(const Make& make, const Arguments&... arguments) {
  using Given = std::tuple<Arguments...>;
  const Given given(arguments...);
  std::vector<OptionMutant<std::invoke_result_t<Make, Arguments...>>> mutants;
  const auto add = [&](auto place) {
    using Options = std::tuple_element_t<place, Given>;
    constexpr size_t count = std::tuple_size_v<std::remove_cvref_t<decltype(fields_of<Options>)>>;
    if constexpr (count > 0) {
      static const std::vector<std::string> names = field_names(short_name(typeid(Options)));
      EXPECT_EQ(names.size(), count) << short_name(typeid(Options)) << " has other fields";
      size_t next = 0;
      const auto without = [&](auto field) {
        mutants.push_back({names.at(next++), [=] {
                             Given changed = given;
                             std::get<place>(changed).*field = Options{}.*field;
                             return std::apply(make, changed);
                           }});
      };
      std::apply([&](auto... fields) { (without(fields), ...); }, fields_of<Options>);
    }
  };
  [&]<size_t... i>(std::index_sequence<i...>) { (add(std::integral_constant<size_t, i>()), ...); }
  (std::index_sequence_for<Arguments...>());
  return mutants;
}

/// Makes M of the first arguments alone, wherever the rest, which isn't options, has defaults.
template <class M, class Wrap, class... Arguments>
auto shorter_mutants(const Wrap& wrap, const Arguments&... arguments) {
  using Given = std::tuple<Arguments...>;
  const Given given(arguments...);
  std::vector<OptionMutant<decltype(wrap(std::declval<M>()))>> mutants;
  const auto add = [&](auto length) {
    using Next = std::tuple_element_t<length, Given>;
    [&]<size_t... i>(std::index_sequence<i...>) {
      if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(fields_of<Next>)>> == 0 &&
                    std::is_constructible_v<M, std::tuple_element_t<i, Given>...>) {
        mutants.push_back({"argument " + std::to_string(length + 1),
                           [=] { return wrap(M(std::get<i>(given)...)); }});
      }
    }
    (std::make_index_sequence<length>());
  };
  [&]<size_t... i>(std::index_sequence<i...>) { (add(std::integral_constant<size_t, i>()), ...); }
  (std::index_sequence_for<Arguments...>());
  return mutants;
}

}  // namespace aorta::nn
