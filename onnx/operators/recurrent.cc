#include <aorta/core/ops/recurrent.h>

#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

// Recurrent layers: X (T, N, I), W (D, G H, I), R (D, G H, H), B (D, 2 G H), lengths (N), initial
// states (D, N, H); Y (T, D, N, H) and the last states (D, N, H), with G gates and D directions.
namespace aorta::onnx {
namespace {

enum class Direction : uint8_t { forward, reverse, bidirectional };

struct RecurrentAttributes {
  const char* op;
  Direction direction;
  int64_t hidden;
  bool samples_first;

  // The activations must be `defaults`, once for each direction.
  RecurrentAttributes(const char* op, const Node& node, const std::vector<std::string>& defaults)
      : op(op),
        direction(static_cast<Direction>(
            node.choice("direction", {"forward", "reverse", "bidirectional"}))),
        hidden(node.integer("hidden_size", 0)),
        samples_first(node.flag("layout", false)) {
    node.check(!node.has("clip"), "attribute clip must be left out", node.number("clip", 0));
    std::vector<std::string> given = node.texts("activations");
    std::vector<std::string> wanted = defaults;
    if (directions() == 2) wanted.insert(wanted.end(), defaults.begin(), defaults.end());
    node.check(given.empty() || given == wanted, "activations must be the default ones",
               given.empty() ? std::string() : io::quote(given[0]));
  }
  int directions() const { return direction == Direction::bidirectional ? 2 : 1; }
  bool is_reverse(int d) const { return direction == Direction::reverse || d == 1; }
};

// Gates in another order: the `order`th of the file's.
Tensor in_order(const Tensor& gates, const std::vector<int64_t>& order) {
  const std::vector<Tensor> parts = chunk(gates, static_cast<int64_t>(order.size()), 0);
  std::vector<Tensor> result;
  for (const int64_t place : order) result.push_back(parts[static_cast<size_t>(place)]);
  return cat(List<Tensor>(result), 0);
}

/// One direction's weights, its gates in the order of Aorta's ops.
struct Weights {
  Tensor w, r, w_bias, r_bias;
  Tensor peepholes;  // (3 H), of an LSTM: of the gates i, o and f, in the file's order
};

Weights weights_of(const Inputs& x, int d, const std::vector<int64_t>& order) {
  Weights weights{in_order(x[1][d], order), in_order(x[2][d], order), {}, {}, {}};
  if (x.has(7)) weights.peepholes = x[7][d];
  if (x.has(3)) {
    const std::vector<Tensor> biases = chunk(x[3][d], 2, 0);
    weights.w_bias = in_order(biases[0], order);
    weights.r_bias = in_order(biases[1], order);
  }
  return weights;
}

// Every input has the shape that X and R say; lengths are those of sequences within X.
void check_shapes(const RecurrentAttributes& o, const Inputs& in, size_t states, int64_t gates) {
  const Tensor &x = in[0], &r = in[2];
  check(x.dim() == 3 && r.dim() == 3 && (o.hidden == 0 || r.size(2) == o.hidden), o.op,
        "X and R must have three dimensions, and R hidden_size columns", x.shape(), " and ",
        r.shape());
  const int64_t d = o.directions(), h = r.size(2), samples = x.size(o.samples_first ? 0 : 1);
  const int64_t steps = x.size(o.samples_first ? 1 : 0);
  check(h < int64_t{1} << 31, o.op, "hidden_size must be below 2^31", h);
  check(steps > 0, o.op, "X must have steps", x.shape());
  const auto expect = [&](size_t place, const char* name, const Shape& wanted) {
    if (!in.has(place)) return;
    check(in[place].shape() == wanted, o.op, std::string(name) + " must have the layer's shape",
          in[place].shape(), " for ", wanted);
  };
  expect(1, "W", {d, gates * h, x.size(2)});
  expect(2, "R", {d, gates * h, h});
  expect(3, "B", {d, 2 * gates * h});
  expect(4, "sequence_lens", {samples});
  const Shape state = o.samples_first ? Shape{samples, d, h} : Shape{d, samples, h};
  expect(5, "initial_h", state);
  if (states > 1) expect(6, "initial_c", state);
  expect(7, "P", {d, 3 * h});
  if (!in.has(4) || samples == 0) return;
  const int64_t shortest = amin(in[4]).item<int64_t>(), longest = amax(in[4]).item<int64_t>();
  check(shortest >= 0 && longest <= steps, o.op, "sequence_lens must be 0 to the steps of X",
        shortest, " to ", longest, " for ", steps);
}

/// A step: the gates of the input, and the states, whose first is the output; changes them.
using Step = std::function<void(const Weights& weights, const Tensor& gates, Tensors& states)>;

// All directions; `first_state` is the place of the first initial state among the inputs.
Tensors recur(const RecurrentAttributes& o, const Inputs& in, size_t states,
              const std::vector<int64_t>& order, const Step& step) {
  check_shapes(o, in, states, static_cast<int64_t>(order.size()));
  const Tensor x = o.samples_first ? in[0].transpose(0, 1) : in[0];
  const int64_t steps = x.size(0), samples = x.size(1), hidden = in[2].size(2);
  const TensorOptions numbers{.dtype = i64, .device = x.device()};
  const Tensor lengths = in.has(4) ? in[4].to(i64) : full({samples}, steps, numbers);
  Tensors outputs, last;  // by direction; by direction and state
  for (int d = 0; d < o.directions(); ++d) {
    const Weights weights = weights_of(in, d, order);
    const auto in_time = [&](const Tensor& t) {
      return o.is_reverse(d) ? reversed_in_time(t, lengths) : t;
    };
    const Tensor gates = linear(in_time(x), weights.w, weights.w_bias);
    Tensors now;
    for (size_t s = 0; s < states; ++s) {
      const Tensor given = in.or_none(5 + s);
      if (!given.defined()) {
        now.push_back(zeros({samples, hidden}, {.dtype = x.dtype(), .device = x.device()}));
      } else {
        now.push_back(given.select(o.samples_first ? 1 : 0, d));
      }
    }
    Tensors y;
    for (int64_t t = 0; t < steps; ++t) {
      const Tensors before = now;
      step(weights, gates[t], now);
      Tensor output = now[0];
      if (in.has(4)) {
        // Behind a sample's end its states stay, and its output is 0.
        const Tensor runs = gt(lengths, t).unsqueeze(1);
        for (size_t s = 0; s < states; ++s) now[s] = where(runs, now[s], before[s]);
        output = where(runs, output, zeros_like(output));
      }
      y.push_back(output);
    }
    outputs.push_back(in_time(stack(List<Tensor>(y), 0)));
    last.insert(last.end(), now.begin(), now.end());
  }
  Tensors results{stack(List<Tensor>(outputs), o.samples_first ? 2 : 1)};
  if (o.samples_first) results[0] = results[0].transpose(0, 1);
  for (size_t s = 0; s < states; ++s) {
    Tensors by_direction;
    for (size_t d = 0; d * states < last.size(); ++d) by_direction.push_back(last[d * states + s]);
    results.push_back(stack(List<Tensor>(by_direction), o.samples_first ? 1 : 0));
  }
  return results;
}

// A step whose gates see the cell: i and f the one before, o the one after.
LstmState peephole_step(const Weights& w, const Tensor& gates, const LstmState& state) {
  const std::vector<Tensor> g = chunk(gates, 4, 1), p = chunk(w.peepholes, 3, 0);
  const Tensor in = sigmoid(add(g[0], mul(p[0], state.c)));
  const Tensor forget = sigmoid(add(g[1], mul(p[2], state.c)));
  const Tensor c = add(mul(forget, state.c), mul(in, tanh(g[2])));
  return {mul(sigmoid(add(g[3], mul(p[1], c))), tanh(c)), c};
}

// Gates i, o, f, c in the file; the op's are i, f, c, o.
Run lstm(const Node& node) {
  const RecurrentAttributes o("LSTM", node, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = node.flag("input_forget", false);
  node.check(!coupled, "attribute input_forget must be 0", 1);
  return [o](const Inputs& x) -> Tensors {
    return recur(o, x, 2, {0, 2, 3, 1}, [](const Weights& w, const Tensor& gates, Tensors& states) {
      const Tensor hidden = linear(states[0], w.r, w.r_bias);
      const LstmState next = w.peepholes.defined()
                                 ? peephole_step(w, add(gates, hidden), {states[0], states[1]})
                                 : kernel::lstm_gates(gates, hidden, states[1]);
      states = {next.h, next.c};
    });
  };
}

// Gates z, r, h in the file; the op's are r, z, n. The reset gate stands behind the recurrent
// product, as the op has it, or before.
Run gru(const Node& node) {
  const RecurrentAttributes o("GRU", node, {"Sigmoid", "Tanh"});
  const bool behind = node.flag("linear_before_reset", false);
  return [=](const Inputs& x) -> Tensors {
    return recur(
        o, x, 1, {1, 0, 2}, [behind](const Weights& w, const Tensor& gates, Tensors& states) {
          const Tensor h = states[0];
          if (behind) {
            states[0] = kernel::gru_gates(gates, linear(h, w.r, w.r_bias), h);
            return;
          }
          const int64_t size = h.size(1);
          const Tensor rz_bias = w.r_bias.defined() ? w.r_bias.narrow(0, 0, 2 * size) : Tensor();
          const Tensor n_bias = w.r_bias.defined() ? w.r_bias.narrow(0, 2 * size, size) : Tensor();
          const Tensor rz = sigmoid(
              add(gates.narrow(1, 0, 2 * size), linear(h, w.r.narrow(0, 0, 2 * size), rz_bias)));
          const Tensor r = rz.narrow(1, 0, size), z = rz.narrow(1, size, size);
          const Tensor n = tanh(add(gates.narrow(1, 2 * size, size),
                                    linear(mul(r, h), w.r.narrow(0, 2 * size, size), n_bias)));
          states[0] = add(n, mul(z, sub(h, n)));
        });
  };
}

Run rnn(const Node& node) {
  const std::vector<std::string> given = node.texts("activations");
  const bool relu_only = !given.empty() && given[0] == "Relu";
  const RecurrentAttributes o("RNN", node, {relu_only ? "Relu" : "Tanh"});
  return [=](const Inputs& x) -> Tensors {
    return recur(o, x, 1, {0}, [relu_only](const Weights& w, const Tensor& gates, Tensors& states) {
      const Tensor sum = add(gates, linear(states[0], w.r, w.r_bias));
      states[0] = relu_only ? relu(sum) : tanh(sum);
    });
  };
}

}  // namespace

void add_recurrent(Operators& table) {
  table["GRU"] = {gru, 3, 6, 2};
  table["LSTM"] = {lstm, 3, 8, 3};
  table["RNN"] = {rnn, 3, 6, 2};
}

}  // namespace aorta::onnx
