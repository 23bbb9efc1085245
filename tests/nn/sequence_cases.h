#pragma once

#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/transformer_cases.h>

// Cases of layers_test.cc: recurrent layers.

namespace aorta::nn {

inline Tensors call_rnn(Module& module, const Tensors& inputs) {
  const RnnOutput result =
      dynamic_cast<RNN&>(module)(inputs.at(0), inputs.size() > 1 ? inputs[1] : Tensor());
  return {result.output, result.h};
}

inline Tensors call_gru(Module& module, const Tensors& inputs) {
  const RnnOutput result =
      dynamic_cast<GRU&>(module)(inputs.at(0), inputs.size() > 1 ? inputs[1] : Tensor());
  return {result.output, result.h};
}

inline Tensors call_lstm(Module& module, const Tensors& inputs) {
  LstmState state;
  if (inputs.size() > 1) state = {inputs.at(1), inputs.at(2)};
  const LstmOutput result = dynamic_cast<LSTM&>(module)(inputs.at(0), state);
  return {result.output, result.state.h, result.state.c};
}

template <class M>
Tensors call_cell(Module& module, const Tensors& inputs) {
  return {dynamic_cast<M&>(module)(inputs.at(0), inputs.size() > 1 ? inputs[1] : Tensor())};
}

inline Tensors call_lstm_cell(Module& module, const Tensors& inputs) {
  LstmState state;
  if (inputs.size() > 1) state = {inputs.at(1), inputs.at(2)};
  const LstmState next = dynamic_cast<LSTMCell&>(module)(inputs.at(0), state);
  return {next.h, next.c};
}

inline std::vector<Case> sequences() {
  using Options = RecurrentOptions;
  const auto rnn = [](const RNNOptions& o) { return maker<RNN>(false, 4, 3, o); };
  const auto lstm = [](const Options& o) { return maker<LSTM>(false, 4, 3, o); };
  const auto gru = [](const Options& o) { return maker<GRU>(false, 4, 3, o); };
  return {
      {"rnn", rnn({}), call_rnn},
      {"rnn_relu_deep",
       rnn({.num_layers = 2,
            .nonlinearity = RNNNonlinearity::relu,
            .bias = false,
            .bidirectional = true}),
       call_rnn},
      {"lstm", lstm({}), call_lstm},
      {"lstm_deep", lstm({.num_layers = 2, .batch_first = true, .bidirectional = true}), call_lstm},
      {"lstm_unbatched", lstm({.bidirectional = true}), call_lstm},
      {"lstm_proj",
       maker<LSTM>(false, 2, 3, Options{.num_layers = 2, .bidirectional = true, .proj_size = 2}),
       call_lstm},
      {"gru", gru({}), call_gru},
      {"gru_deep", gru({.num_layers = 3, .batch_first = true}), call_gru},
      {"gru_unbatched", gru({}), call_gru},
      {"rnn_cell", maker<RNNCell>(false, 4, 3, RNNCellOptions{}), call_cell<RNNCell>},
      {"rnn_cell_relu",
       maker<RNNCell>(false, 4, 3,
                      RNNCellOptions{.bias = false, .nonlinearity = RNNNonlinearity::relu}),
       call_cell<RNNCell>},
      {"lstm_cell", maker<LSTMCell>(false, 4, 3), call_lstm_cell},
      {"lstm_cell_unbatched", maker<LSTMCell>(false, 4, 3, RecurrentCellOptions{.bias = false}),
       call_lstm_cell},
      {"gru_cell", maker<GRUCell>(false, 4, 3, RecurrentCellOptions{}), call_cell<GRUCell>},
      {"gru_cell_unbatched", maker<GRUCell>(false, 4, 3), call_cell<GRUCell>},
  };
}

}  // namespace aorta::nn
