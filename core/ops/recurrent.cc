#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/recurrent.h>

#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>

namespace aorta::kernel {

constinit Op<void (*)(const body::LstmArgs&), LstmGatesGradient> lstm_gates_op{"lstm_gates"};
constinit Op<void (*)(const body::GruArgs&), GruGatesGradient> gru_gates_op{"gru_gates"};
constinit Op<void (*)(const body::LstmBackwardArgs&), NoGradient> lstm_gates_backward_op{
    "lstm_gates_backward"};
constinit Op<void (*)(const body::GruBackwardArgs&), NoGradient> gru_gates_backward_op{
    "gru_gates_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// What both cells take.
struct Cell {
  const char* op;
  int64_t gates;
  Tensor input, h, w_ih, w_hh, b_ih, b_hh;

  // As the cell computes.
  Cell checked() const {
    const Cell cell{op,
                    gates,
                    autocast_to_half(input),
                    autocast_to_half(h),
                    autocast_to_half(w_ih),
                    autocast_to_half(w_hh),
                    autocast_to_half(b_ih),
                    autocast_to_half(b_hh)};
    cell.check_shapes();
    return cell;
  }

  void check_shapes() const {
    check_defined(op, {{"input", input}, {"hx", h}, {"w_ih", w_ih}, {"w_hh", w_hh}});
    check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
    check(input.dim() == 2, op, "input must be (N, I)", input.shape());
    check_state("the hidden state", h);
    const int64_t rows = gates * h.size(1);
    check_weight("w_ih", w_ih, {rows, input.size(1)});
    check_weight("w_hh", w_hh, {rows, h.size(1)});
    if (b_ih.defined()) check_weight("b_ih", b_ih, {rows});
    if (b_hh.defined()) check_weight("b_hh", b_hh, {rows});
  }

  void check_state(const char* name, const Tensor& state) const {
    check(state.dim() == 2 && state.size(0) == input.size(0), op,
          std::string(name) + " must be (N, H)", state.shape(), " for input ", input.shape());
    check_kind(name, state);
  }
  void check_weight(const char* name, const Tensor& weight, const Shape& shape) const {
    check(weight.shape() == shape, op,
          std::string(name) + " must have the shape " + to_string(shape), weight.shape());
    check_kind(name, weight);
  }
  void check_kind(const char* name, const Tensor& tensor) const {
    check(tensor.dtype() == input.dtype(), op, std::string(name) + " must have the input's dtype",
          tensor.dtype(), " for ", input.dtype());
    check(tensor.device() == input.device(), op, "tensors must be on one device", input.device(),
          " and ", tensor.device());
  }

  Tensor input_gates() const { return linear(input, w_ih, b_ih); }
  Tensor hidden_gates() const { return linear(h, w_hh, b_hh); }
};

Tensor fresh(const Tensor& like, int64_t columns) {
  return empty({like.size(0), columns}, {.dtype = like.dtype(), .device = like.device()});
}
Tensor fresh_like(const Tensor& like) { return fresh(like, like.size(1)); }

// What the gates of `count` kinds must be, for a state (N, H).
void check_gates(const char* op, const Tensor& input_gates, const Tensor& hidden_gates,
                 const Tensor& state, int64_t count) {
  check_defined(op,
                {{"input_gates", input_gates}, {"hidden_gates", hidden_gates}, {"state", state}});
  check(state.dim() == 2, op, "the state must be (N, H)", state.shape());
  const Shape shape{state.size(0), count * state.size(1)};
  for (const Tensor* gates : {&input_gates, &hidden_gates}) {
    check(gates->shape() == shape, op, "gates must have the shape " + to_string(shape),
          gates->shape());
    check(gates->dtype() == state.dtype() && gates->device() == state.device(), op,
          "gates must have the state's dtype and device", gates->dtype(), " for ", state.dtype());
  }
}
Tensor plain(const Tensor& tensor) { return tensor.detach().contiguous(); }

}  // namespace

LstmState lstm_cell(const Tensor& input, const LstmState& hx, const Tensor& w_ih,
                    const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  const CalledOp called("lstm_cell");
  check_defined("lstm_cell", {{"input", input}, {"hx.h", hx.h}, {"hx.c", hx.c}});
  const Cell cell = Cell{"lstm_cell", 4, input, hx.h, w_ih, w_hh, b_ih, b_hh}.checked();
  const Tensor c = autocast_to_half(hx.c);
  cell.check_state("the cell", c);
  check(c.shape() == cell.h.shape(), "lstm_cell", "hidden state and cell must have one shape",
        cell.h.shape(), " and ", c.shape());
  return lstm_gates(cell.input_gates(), cell.hidden_gates(), c);
}

LstmState kernel::lstm_gates(const Tensor& input_gates, const Tensor& hidden_gates,
                             const Tensor& cell) {
  check_gates("lstm_gates", input_gates, hidden_gates, cell, 4);
  const CalledOp called(lstm_gates_op.name());
  const ProfilerRange range(lstm_gates_op.name(), {&input_gates, &hidden_gates, &cell});
  const int64_t hidden = cell.size(1);
  const bool records = needs_gradient(input_gates, hidden_gates, cell);
  LstmState next{fresh_like(cell), fresh_like(cell)};
  Tensor gates = records ? fresh(cell, 4 * hidden) : Tensor();
  if (cell.numel() > 0) {
    const Tensor previous = cell.contiguous();
    const Tensor of_input = input_gates.contiguous(), of_hidden = hidden_gates.contiguous();
    lstm_gates_op.kernel(cell.device())({cell.size(0), hidden, cell.dtype(), of_input.data(),
                                         of_hidden.data(), previous.data(), next.h.data(),
                                         next.c.data(), records ? gates.data() : nullptr});
  }
  if (records) lstm_gates_op.gradient()(next.h, next.c, gates, input_gates, hidden_gates, cell);
  tell_tracer(lstm_gates_op.name(), {&next.h, &next.c}, {&input_gates, &hidden_gates, &cell});
  return next;
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  const CalledOp called("gru_cell");
  const Cell cell = Cell{"gru_cell", 3, input, hx, w_ih, w_hh, b_ih, b_hh}.checked();
  return gru_gates(cell.input_gates(), cell.hidden_gates(), cell.h);
}

Tensor kernel::gru_gates(const Tensor& input_gates, const Tensor& hidden_gates,
                         const Tensor& state) {
  check_gates("gru_gates", input_gates, hidden_gates, state, 3);
  const CalledOp called(gru_gates_op.name());
  const ProfilerRange range(gru_gates_op.name(), {&input_gates, &hidden_gates, &state});
  const int64_t hidden = state.size(1);
  const bool records = needs_gradient(input_gates, hidden_gates, state);
  Tensor next = fresh_like(state);
  Tensor gates = records ? fresh(state, 3 * hidden) : Tensor();
  if (state.numel() > 0) {
    const Tensor previous = state.contiguous();
    const Tensor of_input = input_gates.contiguous(), of_hidden = hidden_gates.contiguous();
    gru_gates_op.kernel(state.device())({state.size(0), hidden, state.dtype(), of_input.data(),
                                         of_hidden.data(), previous.data(), next.data(),
                                         records ? gates.data() : nullptr});
  }
  if (records) gru_gates_op.gradient()(next, gates, input_gates, hidden_gates, state);
  tell_tracer(gru_gates_op.name(), {&next}, {&input_gates, &hidden_gates, &state});
  return next;
}

LstmGradients kernel::lstm_gates_backward(const Tensor& hidden_gradient,
                                          const Tensor& cell_gradient, const Tensor& gates,
                                          const Tensor& cell, const Tensor& next_cell) {
  const CalledOp called(lstm_gates_backward_op.name());
  const ProfilerRange range(lstm_gates_backward_op.name(), {&gates});
  const LstmGradients result{fresh_like(gates), fresh_like(cell)};
  if (cell.numel() == 0) return result;
  const Tensor dh = plain(hidden_gradient), dc = plain(cell_gradient);
  const Tensor g = plain(gates), c = plain(cell), next = plain(next_cell);
  lstm_gates_backward_op.kernel(g.device())({c.size(0), c.size(1), c.dtype(), dh.data(), dc.data(),
                                             g.data(), c.data(), next.data(), result.gates.data(),
                                             result.cell.data()});
  return result;
}

GruGradients kernel::gru_gates_backward(const Tensor& gradient, const Tensor& gates,
                                        const Tensor& hidden_gates, const Tensor& state) {
  const CalledOp called(gru_gates_backward_op.name());
  const ProfilerRange range(gru_gates_backward_op.name(), {&gates});
  const GruGradients result{fresh_like(gates), fresh_like(gates), fresh_like(state)};
  if (state.numel() == 0) return result;
  const Tensor dh = plain(gradient), g = plain(gates);
  const Tensor of_hidden = plain(hidden_gates), h = plain(state);
  gru_gates_backward_op.kernel(g.device())({h.size(0), h.size(1), h.dtype(), dh.data(), g.data(),
                                            of_hidden.data(), h.data(), result.input_gates.data(),
                                            result.hidden_gates.data(), result.state.data()});
  return result;
}

}  // namespace aorta
