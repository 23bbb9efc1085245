#pragma once

#include <aorta/core/ops/recurrent.h>
#include <aorta/nn/module.h>
#include <aorta/nn/packed_sequence.h>

namespace aorta::nn {

/// The options of LSTM and GRU, with PyTorch's names and defaults.
struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;    // input and output are (N, T, *) instead of (T, N, *)
  double dropout = 0;          // in training, on the outputs of every layer but the last
  bool bidirectional = false;  // a second pass from the end; outputs stand side by side
  /// P: of an LSTM, the hidden states and outputs become weight_hr h of P < H features; 0: they
  /// stay.
  int64_t proj_size = 0;
};

/// What RNN, LSTM and GRU share: T steps, N samples, I features in, H out; D is 2 when
/// bidirectional, else 1, and L the number of layers. Input (T, N, I), (N, T, I) or, unbatched, (T,
/// I); output (T, N, D H) in the same order; states (L D, N, H) or (L D, H). Weights are named and
/// laid out as PyTorch's, weight_ih_l0 and so on, and start uniform in +-1 / sqrt(H). The products
/// of all inputs of a layer are one. A PackedSequence gives one with the same batch_sizes, and
/// states in the order of the batch; each sequence's final state is the one at its end.
class Recurrent : public Module {
 public:
  void reset_parameters() override;
  std::string extra_repr() const override;
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int64_t input_size, hidden_size;
  RecurrentOptions options;

 protected:
  struct Weights {
    Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
  };
  /// One step from the gates of an input, w_ih x + b_ih, and the states; a tracer is told of all
  /// steps of a layer by the name `op`.
  struct Step {
    const char* op;
    std::function<void(const Weights& weights, const Tensor& input_gates,
                       std::vector<Tensor>& states)>
        run;
  };
  /// `gates` is G in weights (G H, *).
  Recurrent(int64_t gates, int64_t input_size, int64_t hidden_size,
            const RecurrentOptions& options);
  void append_members(Members& members) const override;
  /// All layers. `states` has the initial states, the hidden one first, each defined or none;
  /// afterwards the final ones.
  Tensor run(const Tensor& input, std::vector<Tensor>& states, size_t count,
             const Step& step) const;
  PackedSequence run(const PackedSequence& input, std::vector<Tensor>& states, size_t count,
                     const Step& step) const;

 private:
  const Weights& weights(int64_t layer, int64_t direction) const;
  /// The features of a layer's output in one direction.
  int64_t output_size() const { return options.proj_size > 0 ? options.proj_size : hidden_size; }
  void check_input(const Tensor& data) const;
  std::vector<Tensor> initial_states(const std::vector<Tensor>& given, size_t count,
                                     const Tensor& data, int64_t batch, bool unbatched) const;
  /// All layers for data (sum of sizes, I) of steps that have `sizes` sequences each.
  /// `from_zeros`: no states were given.
  Tensor run_steps(const Tensor& data, const std::vector<int64_t>& sizes,
                   std::vector<Tensor>& states, bool from_zeros, const Step& step) const;
  std::vector<Weights> weights_;
  int64_t gates_;
};

/// The outputs of all steps, and the state after the last one.
struct RnnOutput {
  Tensor output, h;
};
/// What an RNN gives for a packed sequence.
struct PackedRnnOutput {
  PackedSequence output;
  Tensor h;
};

/// What an RNN does with its sums.
enum class RNNNonlinearity : uint8_t { tanh, relu };
/// RecurrentOptions and what is the RNN's own, side by side, so that all can be named in one list.
struct RNNOptions {
  int64_t num_layers = 1;
  RNNNonlinearity nonlinearity = RNNNonlinearity::tanh;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
};
/// h' = tanh(w_ih x + b_ih + w_hh h + b_hh), or relu of it (Elman 1990).
class RNN : public Recurrent {
 public:
  RNN(int64_t input_size, int64_t hidden_size, const RNNOptions& options = {});
  RNN(Module& owner, const char* name, int64_t input_size, int64_t hidden_size,
      const RNNOptions& options = {});
  /// Without `h` it starts from zeros.
  RnnOutput operator()(const Tensor& input, const Tensor& h = {}) const;
  RnnOutput forward(const Tensor& input, const Tensor& h) const;
  PackedRnnOutput operator()(const PackedSequence& input, const Tensor& h = {}) const;
  PackedRnnOutput forward(const PackedSequence& input, const Tensor& h) const;
  /// The output alone.
  Tensor forward(const Tensor& input) const override;

  RNNNonlinearity nonlinearity;

 private:
  Step rule() const;
};

/// The outputs of all steps, and the states after the last one.
struct LstmOutput {
  Tensor output;
  LstmState state;
};
/// What an LSTM gives for a packed sequence.
struct PackedLstmOutput {
  PackedSequence output;
  LstmState state;
};
/// See lstm_cell.
class LSTM : public Recurrent {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {});
  LSTM(Module& owner, const char* name, int64_t input_size, int64_t hidden_size,
       const RecurrentOptions& options = {});
  LstmOutput operator()(const Tensor& input, const LstmState& state = {}) const;
  LstmOutput forward(const Tensor& input, const LstmState& state) const;
  PackedLstmOutput operator()(const PackedSequence& input, const LstmState& state = {}) const;
  PackedLstmOutput forward(const PackedSequence& input, const LstmState& state) const;
  Tensor forward(const Tensor& input) const override;

 private:
  Step rule() const;
};

/// See gru_cell.
class GRU : public Recurrent {
 public:
  GRU(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {});
  GRU(Module& owner, const char* name, int64_t input_size, int64_t hidden_size,
      const RecurrentOptions& options = {});
  RnnOutput operator()(const Tensor& input, const Tensor& h = {}) const;
  RnnOutput forward(const Tensor& input, const Tensor& h) const;
  PackedRnnOutput operator()(const PackedSequence& input, const Tensor& h = {}) const;
  PackedRnnOutput forward(const PackedSequence& input, const Tensor& h) const;
  Tensor forward(const Tensor& input) const override;

 private:
  Step rule() const;
};

/// The options of LSTMCell and GRUCell, with PyTorch's names and defaults.
struct RecurrentCellOptions {
  bool bias = true;
};
/// What RNNCell, LSTMCell and GRUCell share, one step of one layer: input (N, I), or (I) unbatched;
/// states (N, H) or (H), zeros where they aren't given. Weights are named and laid out as
/// PyTorch's and start uniform in +-1 / sqrt(H).
class RecurrentCell : public Module {
 public:
  void reset_parameters() override;
  std::string extra_repr() const override;
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int64_t input_size, hidden_size;
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  /// `gates` is G in weights (G H, *).
  RecurrentCell(int64_t gates, int64_t input_size, int64_t hidden_size, bool bias);
  /// The gates of the input, and the states beside them, in one batch.
  struct Step {
    Tensor gates;
    std::vector<Tensor> states;
  };
  Step begin(const Tensor& input, const std::vector<Tensor>& states) const;
  Tensor hidden_gates(const Tensor& h) const;

 private:
  Tensor state_of(const Tensor& given, const Tensor& input) const;
};

/// RecurrentCellOptions and what is the RNNCell's own.
struct RNNCellOptions {
  bool bias = true;
  RNNNonlinearity nonlinearity = RNNNonlinearity::tanh;
};
/// One step of an RNN.
class RNNCell : public RecurrentCell {
 public:
  RNNCell(int64_t input_size, int64_t hidden_size, const RNNCellOptions& options = {});
  RNNCell(Module& owner, const char* name, int64_t input_size, int64_t hidden_size,
          const RNNCellOptions& options = {});
  /// The next state.
  Tensor operator()(const Tensor& input, const Tensor& h = {}) const;
  Tensor forward(const Tensor& input, const Tensor& h) const;
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  RNNNonlinearity nonlinearity;
};

/// One step of an LSTM; see lstm_cell.
class LSTMCell : public RecurrentCell {
 public:
  LSTMCell(int64_t input_size, int64_t hidden_size, const RecurrentCellOptions& options = {});
  LSTMCell(Module& owner, const char* name, int64_t input_size, int64_t hidden_size,
           const RecurrentCellOptions& options = {});
  /// The next states; both are given or none.
  LstmState operator()(const Tensor& input, const LstmState& state = {}) const;
  LstmState forward(const Tensor& input, const LstmState& state) const;
  /// The hidden one alone.
  Tensor forward(const Tensor& input) const override;
};

/// One step of a GRU; see gru_cell.
class GRUCell : public RecurrentCell {
 public:
  GRUCell(int64_t input_size, int64_t hidden_size, const RecurrentCellOptions& options = {});
  GRUCell(Module& owner, const char* name, int64_t input_size, int64_t hidden_size,
          const RecurrentCellOptions& options = {});
  /// The next state.
  Tensor operator()(const Tensor& input, const Tensor& h = {}) const;
  Tensor forward(const Tensor& input, const Tensor& h) const;
  Tensor forward(const Tensor& input) const override;
};

}  // namespace aorta::nn
