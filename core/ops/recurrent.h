#pragma once

#include <aorta/core/body/recurrent.h>
#include <aorta/core/dispatch/op_table.h>

namespace aorta {

// One step of a recurrent layer, for input (N, I) and hidden state (N, H). Weights stand as rows
// of gates: w_ih (G H, I), w_hh (G H, H), biases b_ih and b_hh (G H) or undefined, with G = 4 or 3.
// Floating dtypes, one for all; half types are computed in f32 between the products and rounded
// after them. Two products, and all that comes after them in one pass. Errors: other shapes, mixed
// dtypes or devices.

/// Hidden state and cell of an LSTM, both (N, H).
struct LstmState {
  Tensor h, c;
};
/// With the gates i, f, g, o = input w_ih^T + b_ih + h w_hh^T + b_hh in this order:
///   c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
/// Hochreiter, Schmidhuber 1997; gates and names as PyTorch's.
LstmState lstm_cell(const Tensor& input, const LstmState& hx, const Tensor& w_ih,
                    const Tensor& w_hh, const Tensor& b_ih = {}, const Tensor& b_hh = {});

/// With the gates r, z, n = input w_ih^T + b_ih and R, Z, N = h w_hh^T + b_hh:
///   h' = (1 - s) m + s h, s = sigmoid(z + Z), m = tanh(n + sigmoid(r + R) N).
/// Cho et al. 2014, in PyTorch's variant.
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih = {}, const Tensor& b_hh = {});

}  // namespace aorta

namespace aorta::kernel {

/// What comes after the products, in one pass: an LSTM's step from input_gates = input w_ih^T +
/// b_ih and hidden_gates = h w_hh^T + b_hh, both (N, 4 H), and the cell (N, H).
LstmState lstm_gates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cell);
/// Computes the next state of a GRU from its gates, both (N, 3 H), and the state (N, H).
Tensor gru_gates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& state);

/// Gradients of what follows the products, fused; they record nothing.
struct LstmGradients {
  Tensor gates, cell;  // of the input's gates and of the hidden state's, which is the same; of c
};
/// Computes the gradients of lstm_gates; `gates` are activated.
LstmGradients lstm_gates_backward(const Tensor& hidden_gradient, const Tensor& cell_gradient,
                                  const Tensor& gates, const Tensor& cell, const Tensor& next_cell);
/// Gradients of gru_gates, fused; they record nothing.
struct GruGradients {
  Tensor input_gates, hidden_gates, state;
};
/// Computes the gradients of gru_gates; `gates` are activated.
GruGradients gru_gates_backward(const Tensor& gradient, const Tensor& gates,
                                const Tensor& hidden_gates, const Tensor& state);

/// `gates` are activated. They are an output too, so that the gradient is made of what the graph
/// knows.
using LstmGatesGradient = void (*)(Tensor& next_hidden, Tensor& next_cell, Tensor& gates,
                                   const Tensor& input_gates, const Tensor& hidden_gates,
                                   const Tensor& cell);
using GruGatesGradient = void (*)(Tensor& next_state, Tensor& gates, const Tensor& input_gates,
                                  const Tensor& hidden_gates, const Tensor& state);
extern Op<void (*)(const body::LstmArgs& args), LstmGatesGradient> lstm_gates_op;
extern Op<void (*)(const body::GruArgs& args), GruGatesGradient> gru_gates_op;
/// Backward passes that record themselves are composed of ops, so these have no gradient.
extern Op<void (*)(const body::LstmBackwardArgs& args), NoGradient> lstm_gates_backward_op;
extern Op<void (*)(const body::GruBackwardArgs& args), NoGradient> gru_gates_backward_op;

}  // namespace aorta::kernel
