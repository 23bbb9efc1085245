#include <aorta/core/ops/recurrent.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>

namespace aorta::autograd {
namespace {

Tensor tanh_slope(const Tensor& y) { return 1 - y * y; }
Tensor sigmoid_slope(const Tensor& y) { return y * (1 - y); }

// The activated gates are an output that nobody but this node sees; a pass that records itself
// differentiates with respect to them, and their gradient comes back here.
LstmGradients lstm_composed(const Tensor& dh, const Tensor& dc, const Tensor& gates,
                            const Tensor& cell, const Tensor& next_cell, const Tensor& more) {
  const std::vector<Tensor> a = chunk(gates, 4, 1);
  const Tensor t = tanh(next_cell), total = dc + dh * a[3] * tanh_slope(t);
  Tensor slopes = cat({total * a[2], total * cell, total * a[0], dh * t}, 1);
  if (more.defined()) slopes = slopes + more;
  const Tensor own =
      cat({sigmoid_slope(a[0]), sigmoid_slope(a[1]), tanh_slope(a[2]), sigmoid_slope(a[3])}, 1);
  return {slopes * own, total * a[1]};
}

void lstm_gates_gradient(Tensor& next_hidden, Tensor& next_cell, Tensor& gates,
                         const Tensor& input_gates, const Tensor& hidden_gates,
                         const Tensor& cell) {
  record("lstm_cell", {&next_hidden, &next_cell, &gates}, {&input_gates, &hidden_gates, &cell},
         [c = Saved(cell, 2), next = Saved::output(next_cell, 1),
          activated = Saved::output(gates, 2)](Gradients& g) {
           const Tensor more = g.has_output(2) ? g.output(2) : Tensor();
           const LstmGradients result =
               grad_enabled() || more.defined()
                   ? lstm_composed(g.output(0), g.output(1), g.saved(activated), g.saved(c),
                                   g.saved(next), more)
                   : lstm_gates_backward(g.output(0), g.output(1), g.saved(activated), g.saved(c),
                                         g.saved(next));
           if (g.wanted(0)) g.input(0) = result.gates;
           if (g.wanted(1)) g.input(1) = result.gates;
           if (g.wanted(2)) g.input(2) = result.cell;
         });
}

GruGradients gru_composed(const Tensor& dh, const Tensor& gates, const Tensor& hidden_gates,
                          const Tensor& state, const Tensor& more) {
  const std::vector<Tensor> a = chunk(gates, 3, 1);
  const Tensor &r = a[0], &z = a[1], &n = a[2];
  const std::vector<Tensor> others = more.defined() ? chunk(more, 3, 1) : std::vector<Tensor>(3);
  const auto with = [](const Tensor& x, const Tensor& other) {
    return other.defined() ? x + other : x;
  };
  const Tensor dn = with(dh * (1 - z), others[2]) * tanh_slope(n);
  const Tensor dr = with(dn * chunk(hidden_gates, 3, 1)[2], others[0]) * sigmoid_slope(r);
  const Tensor dz = with(dh * (state - n), others[1]) * sigmoid_slope(z);
  return {cat({dr, dz, dn}, 1), cat({dr, dz, dn * r}, 1), dh * z};
}

void gru_gates_gradient(Tensor& next_state, Tensor& gates, const Tensor& input_gates,
                        const Tensor& hidden_gates, const Tensor& state) {
  record("gru_cell", {&next_state, &gates}, {&input_gates, &hidden_gates, &state},
         [of_hidden = Saved(hidden_gates, 1), h = Saved(state, 2),
          activated = Saved::output(gates, 1)](Gradients& g) {
           const Tensor more = g.has_output(1) ? g.output(1) : Tensor();
           const GruGradients result = grad_enabled() || more.defined()
                                           ? gru_composed(g.output(0), g.saved(activated),
                                                          g.saved(of_hidden), g.saved(h), more)
                                           : gru_gates_backward(g.output(0), g.saved(activated),
                                                                g.saved(of_hidden), g.saved(h));
           if (g.wanted(0)) g.input(0) = result.input_gates;
           if (g.wanted(1)) g.input(1) = result.hidden_gates;
           if (g.wanted(2)) g.input(2) = result.state;
         });
}

}  // namespace

void register_recurrent() {
  lstm_gates_op.set_gradient(lstm_gates_gradient);
  gru_gates_op.set_gradient(gru_gates_gradient);
}

}  // namespace aorta::autograd
