#include <aorta/core/ops/recurrent.h>

#include <aorta/core/autocast.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/profiler.h>

namespace aorta {

constinit Op<void (*)(const body::LstmArgs&), LstmGatesGradient> lstm_gates_op{"lstm_gates"};
constinit Op<void (*)(const body::GruArgs&), GruGatesGradient> gru_gates_op{"gru_gates"};
constinit Op<void (*)(const body::LstmBackwardArgs&), NoKernel> lstm_gates_backward_op{
    "lstm_gates_backward"};
constinit Op<void (*)(const body::GruBackwardArgs&), NoKernel> gru_gates_backward_op{
    "gru_gates_backward"};

namespace {

// What both cells take.
struct Cell {
  const char* op;
  int64_t gates;
  Tensor input, h, w_ih, w_hh, b_ih, b_hh;

  Cell(const char* name, int64_t count, const Tensor& x, const Tensor& state, const Tensor& w_input,
       const Tensor& w_hidden, const Tensor& b_input, const Tensor& b_hidden)
      : op(name),
        gates(count),
        input(autocast_to_half(x)),
        h(autocast_to_half(state)),
        w_ih(autocast_to_half(w_input)),
        w_hh(autocast_to_half(w_hidden)),
        b_ih(autocast_to_half(b_input)),
        b_hh(autocast_to_half(b_hidden)) {
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
  Tensor fresh(int64_t columns) const { return fresh_like(input, columns); }
  static Tensor fresh_like(const Tensor& like, int64_t columns) {
    return empty({like.size(0), columns}, {.dtype = like.dtype(), .device = like.device()});
  }
};

Tensor fresh_like(const Tensor& like) { return Cell::fresh_like(like, like.size(1)); }
Tensor plain(const Tensor& tensor) { return tensor.detach().contiguous(); }

}  // namespace

LstmState lstm_cell(const Tensor& input, const LstmState& hx, const Tensor& w_ih,
                    const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  const Cell cell("lstm_cell", 4, input, hx.h, w_ih, w_hh, b_ih, b_hh);
  const Tensor c = autocast_to_half(hx.c);
  cell.check_state("the cell", c);
  check(c.shape() == cell.h.shape(), "lstm_cell", "hidden state and cell must have one shape",
        cell.h.shape(), " and ", c.shape());
  const Tensor of_input = cell.input_gates(), of_hidden = cell.hidden_gates();
  const ProfilerRange range(lstm_gates_op.name(), {&of_input, &of_hidden, &c});
  const int64_t hidden = c.size(1);
  const bool records = needs_gradient(of_input, of_hidden, c);
  LstmState next{cell.fresh(hidden), cell.fresh(hidden)};
  Tensor gates = records ? cell.fresh(4 * hidden) : Tensor();
  if (c.numel() > 0) {
    const Tensor previous = c.contiguous();
    lstm_gates_op.kernel(c.device())({c.size(0), hidden, c.dtype(), of_input.data(),
                                      of_hidden.data(), previous.data(), next.h.data(),
                                      next.c.data(), records ? gates.data() : nullptr});
  }
  if (records) lstm_gates_op.gradient()(next.h, next.c, gates, of_input, of_hidden, c);
  return next;
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  const Cell cell("gru_cell", 3, input, hx, w_ih, w_hh, b_ih, b_hh);
  const Tensor& h = cell.h;
  const Tensor of_input = cell.input_gates(), of_hidden = cell.hidden_gates();
  const ProfilerRange range(gru_gates_op.name(), {&of_input, &of_hidden, &h});
  const int64_t hidden = h.size(1);
  const bool records = needs_gradient(of_input, of_hidden, h);
  Tensor next = cell.fresh(hidden);
  Tensor gates = records ? cell.fresh(3 * hidden) : Tensor();
  if (h.numel() > 0) {
    const Tensor previous = h.contiguous();
    gru_gates_op.kernel(h.device())({h.size(0), hidden, h.dtype(), of_input.data(),
                                     of_hidden.data(), previous.data(), next.data(),
                                     records ? gates.data() : nullptr});
  }
  if (records) gru_gates_op.gradient()(next, gates, of_input, of_hidden, h);
  return next;
}

LstmGradients lstm_gates_backward(const Tensor& hidden_gradient, const Tensor& cell_gradient,
                                  const Tensor& gates, const Tensor& cell,
                                  const Tensor& next_cell) {
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

GruGradients gru_gates_backward(const Tensor& gradient, const Tensor& gates,
                                const Tensor& hidden_gates, const Tensor& state) {
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
