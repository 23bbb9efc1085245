#pragma once

#include <aorta/tests/nn/transformer_cases.h>

// The layers of which a parameter is computed, that are compared with PyTorch.

namespace aorta::nn {

inline Tensors call_one(Module& module, const Tensors& inputs) { return {module(inputs.at(0))}; }

template <class Make>
Case made_by(const std::string& name, Make make, decltype(Case::call) call = call_one) {
  return {name, [make] { return AnyModule(make()); }, call};
}

inline std::vector<Case> parametrizations() {
  return {
      made_by("weight_norm", [] { return weight_norm(Linear(4, 3)); }),
      made_by("weight_norm_dim",
              [] {
                return weight_norm(Conv2d(3, 4, {2, 3}), {.dim = 1});
              }),
      made_by("weight_norm_whole", [] { return weight_norm(Conv1d(3, 4, 2), {.dim = {}}); }),
      made_by("weight_norm_bias",
              [] { return weight_norm(Linear(4, 3), {.name = "bias", .dim = {}}); }),
      made_by(
          "weight_norm_lstm", [] { return weight_norm(LSTM(2, 3), {.name = "weight_hh_l0"}); },
          [](Module& module, const Tensors& inputs) {
            const LstmOutput result = dynamic_cast<LSTM&>(module)(inputs.at(0));
            return Tensors{result.output, result.state.h, result.state.c};
          }),
      made_by("spectral_norm", [] { return spectral_norm(Conv2d(3, 4, 3)); }),
      made_by("spectral_norm_transposed",
              [] { return spectral_norm(ConvTranspose2d(4, 3, 2), {.n_power_iterations = 3}); }),
      made_by("spectral_norm_dim",
              [] {
                return spectral_norm(Conv2d(2, 3, {2, 4}), {.eps = 0.1, .dim = 2});
              }),
      made_by("spectral_norm_bias", [] { return spectral_norm(Linear(4, 3), {.name = "bias"}); }),
      made_by("both_norms",
              [] { return weight_norm(spectral_norm(Linear(4, 3)), {.name = "bias", .dim = {}}); }),
  };
}

}  // namespace aorta::nn
