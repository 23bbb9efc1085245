#pragma once

#include <aorta/tests/nn/transformer_cases.h>

// The layers of which a parameter is computed, that are compared with PyTorch.

namespace aorta::nn {

inline Tensors call_one(Module& module, const Tensors& inputs) { return {module(inputs.at(0))}; }

// With options that aren't the module's own.
inline Maker named(const std::string& owner, Maker maker) {
  maker.owner = owner;
  return maker;
}

// weight_norm of M(arguments...).
template <class M, class... Arguments>
Maker weight_normed(const WeightNormOptions& options, const Arguments&... arguments) {
  return named("weight_norm", maker_with(
                                  [=](const WeightNormOptions& o) {
                                    return AnyModule(weight_norm(M(arguments...), o));
                                  },
                                  options));
}
template <class M, class... Arguments>
Maker spectral_normed(const SpectralNormOptions& options, const Arguments&... arguments) {
  return named("spectral_norm", maker_with(
                                    [=](const SpectralNormOptions& o) {
                                      return AnyModule(spectral_norm(M(arguments...), o));
                                    },
                                    options));
}

template <class M, class... Arguments>
Maker made_orthogonal(const OrthogonalOptions& options, const Arguments&... arguments) {
  return named("orthogonal", maker_with(
                                 [=](const OrthogonalOptions& o) {
                                   return AnyModule(orthogonal(M(arguments...), o));
                                 },
                                 options));
}

inline std::vector<Case> orthogonal_matrices() {
  const Dims k23{2, 3};
  const auto call_rnn = [](Module& module, const Tensors& inputs) {
    const RnnOutput result = dynamic_cast<RNN&>(module)(inputs.at(0));
    return Tensors{result.output, result.h};
  };
  const OrthogonalOptions cayley{.orthogonal_map = "cayley"},
      exp{.orthogonal_map = "matrix_exp", .use_trivialization = false},
      plain{.use_trivialization = false},
      reflected{.orthogonal_map = "householder", .use_trivialization = false},
      plain_cayley{.orthogonal_map = "cayley", .use_trivialization = false};
  return {
      {"orthogonal", made_orthogonal<Linear>({}, 4, 4), call_one},
      {"orthogonal_tall", made_orthogonal<Linear>({}, 3, 5), call_one},
      {"orthogonal_wide", made_orthogonal<Linear>(cayley, 5, 3), call_one},
      {"orthogonal_exp", made_orthogonal<Linear>(exp, 3, 5), call_one},
      {"orthogonal_reflected", made_orthogonal<Linear>(plain, 4, 3), call_one},
      {"orthogonal_square", made_orthogonal<Linear>(reflected, 3, 3), call_one},
      {"orthogonal_batch", made_orthogonal<Conv2d>({}, 2, 3, k23), call_one},
      {"orthogonal_batch_cayley", made_orthogonal<Conv1d>(plain_cayley, 2, 3, 2), call_one},
      {"orthogonal_recurrent", made_orthogonal<RNN>({.name = "weight_hh_l0"}, 2, 3), call_rnn},
  };
}

inline std::vector<Case> parametrizations() {
  const Dims k23{2, 3}, k24{2, 4};
  const auto call_lstm_output = [](Module& module, const Tensors& inputs) {
    const LstmOutput result = dynamic_cast<LSTM&>(module)(inputs.at(0));
    return Tensors{result.output, result.state.h, result.state.c};
  };
  return {
      {"weight_norm", weight_normed<Linear>({}, 4, 3), call_one},
      {"weight_norm_dim", weight_normed<Conv2d>({.dim = 1}, 3, 4, k23), call_one},
      {"weight_norm_whole", weight_normed<Conv1d>({.dim = {}}, 3, 4, 2), call_one},
      {"weight_norm_bias", weight_normed<Linear>({.name = "bias", .dim = {}}, 4, 3), call_one},
      {"weight_norm_lstm", weight_normed<LSTM>({.name = "weight_hh_l0"}, 2, 3), call_lstm_output},
      {"spectral_norm", spectral_normed<Conv2d>({}, 3, 4, 3), call_one},
      {"spectral_norm_transposed",
       spectral_normed<ConvTranspose2d>({.n_power_iterations = 3}, 4, 3, 2), call_one},
      {"spectral_norm_dim", spectral_normed<Conv2d>({.eps = 0.1, .dim = 2}, 2, 3, k24), call_one},
      {"spectral_norm_bias", spectral_normed<Linear>({.name = "bias"}, 4, 3), call_one},
      {"both_norms",
       [] {
         return AnyModule(weight_norm(spectral_norm(Linear(4, 3)), {.name = "bias", .dim = {}}));
       },
       call_one},
  };
}

}  // namespace aorta::nn
