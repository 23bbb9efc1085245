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

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

// Recurrent layers: X (T, N, I), W (D, G H, I), R (D, G H, H), B (D, 2 G H), lengths (N), initial
// states (D, N, H); Y (T, D, N, H) and the last states (D, N, H), with G gates and D directions.
namespace aorta::onnx {
namespace {

/// A function that gates or states go through, by its name in files: which numbers it takes, and
/// what they are where a node gives none (NaN: it must give one).
struct Activation {
  const char* name;
  std::vector<double> numbers;  // alpha, and beta
  Tensor (*apply)(const Tensor& x, double alpha, double beta);
};

const std::vector<Activation>& activations() {
  using T = const Tensor&;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<Activation> all{
      {"Sigmoid", {}, +[](T x, double, double) { return sigmoid(x); }},
      {"Tanh", {}, +[](T x, double, double) { return tanh(x); }},
      {"Relu", {}, +[](T x, double, double) { return relu(x); }},
      {"Softsign", {}, +[](T x, double, double) { return softsign(x); }},
      {"Softplus", {}, +[](T x, double, double) { return softplus(x); }},
      {"LeakyRelu", {0.01}, +[](T x, double alpha, double) { return leaky_relu(x, alpha); }},
      {"ThresholdedRelu", {1}, +[](T x, double alpha, double) { return threshold(x, alpha, 0.0); }},
      {"Elu", {1}, +[](T x, double alpha, double) { return elu(x, alpha); }},
      {"HardSigmoid",
       {0.2, 0.5},
       +[](T x, double alpha, double beta) { return clamp(add(mul(x, alpha), beta), 0, 1); }},
      {"Affine",
       {none, none},
       +[](T x, double alpha, double beta) { return add(mul(x, alpha), beta); }},
      {"ScaledTanh", {none, none}, +[](T x, double alpha, double beta) {
         return mul(tanh(mul(x, beta)), alpha);
       }}};
  return all;
}

// Files may write a name in any case.
bool is_name(const std::string& text, const char* name) {
  const std::string_view other = name;
  return std::equal(text.begin(), text.end(), other.begin(), other.end(),
                    [](char a, char b) { return std::tolower(a) == std::tolower(b); });
}

enum class Direction : uint8_t { forward, reverse, bidirectional };

struct RecurrentAttributes {
  const char* op;
  Direction direction;
  int64_t hidden;
  bool samples_first;
  bool is_usual;  // the functions are the default ones, and nothing is clipped
  double clip;    // of the gates, before their functions; none: infinite

  // The functions are `defaults` where the node names none, those of each direction in a row.
  RecurrentAttributes(const char* op, const Node& node, const std::vector<std::string>& defaults)
      : op(op),
        direction(static_cast<Direction>(
            node.choice("direction", {"forward", "reverse", "bidirectional"}))),
        hidden(node.integer("hidden_size", 0)),
        samples_first(node.flag("layout", false)),
        clip(node.number("clip", std::numeric_limits<double>::infinity())),
        per_direction_(defaults.size()) {
    node.check(clip >= 0, "attribute clip must not be negative", clip);
    std::vector<std::string> usual = defaults;
    if (directions() == 2) usual.insert(usual.end(), defaults.begin(), defaults.end());
    std::vector<std::string> names = node.texts("activations");
    if (names.empty()) names = usual;
    node.check(names.size() == usual.size(), "activations must be those of each direction",
               names.size(), " for ", usual.size());
    const std::vector<float> given[] = {node.numbers("activation_alpha"),
                                        node.numbers("activation_beta")};
    size_t next[] = {0, 0};
    is_usual = std::isinf(clip);
    for (size_t i = 0; i < names.size(); ++i) {
      is_usual &= is_name(names[i], usual[i].c_str());
      functions_.push_back(function_of(node, names[i]));
      std::vector<double>& numbers = functions_.back().numbers;
      for (size_t k = 0; k < numbers.size(); ++k) {
        if (next[k] < given[k].size()) numbers[k] = given[k][next[k]++];
        node.check(!std::isnan(numbers[k]),
                   "activation_alpha and activation_beta must be given of that activation",
                   io::quote(names[i]));
      }
    }
    for (size_t k = 0; k < 2; ++k)
      node.check(next[k] == given[k].size(),
                 "activation_alpha and activation_beta must be of activations that take them",
                 given[k].size(), " for ", next[k]);
  }
  int directions() const { return direction == Direction::bidirectional ? 2 : 1; }
  bool is_reverse(int d) const { return direction == Direction::reverse || d == 1; }

  // The ith function of a direction.
  Tensor apply(int d, size_t i, const Tensor& x) const {
    const Activation& f = functions_[static_cast<size_t>(d) * per_direction_ + i];
    const auto number = [&](size_t k) { return k < f.numbers.size() ? f.numbers[k] : 0; };
    return f.apply(x, number(0), number(1));
  }
  // Gates are clipped before.
  Tensor gate(int d, size_t i, const Tensor& x) const {
    return apply(d, i, std::isinf(clip) ? x : clamp(x, -clip, clip));
  }

 private:
  static Activation function_of(const Node& node, const std::string& name) {
    for (const Activation& one : activations())
      if (is_name(name, one.name)) return one;
    node.fail("activations must be among ONNX's", io::quote(name));
  }

  size_t per_direction_;
  std::vector<Activation> functions_;
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
  int direction;
  Tensor w, r, w_bias, r_bias;
  Tensor peepholes;  // (3 H), of an LSTM: of the gates i, o and f, in the file's order
};

Weights weights_of(const Inputs& x, int d, const std::vector<int64_t>& order) {
  Weights weights{d, in_order(x[1][d], order), in_order(x[2][d], order), {}, {}, {}};
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

// A step of any functions, whose gates may see the cell: i and f the one before, o the one after.
// The cell is clipped as a gate alone, not on its way out: onnxruntime reads the standard so.
LstmState lstm_step(const RecurrentAttributes& o, bool coupled, const Weights& w,
                    const Tensor& gates, const LstmState& state) {
  const std::vector<Tensor> g = chunk(gates, 4, 1);
  std::vector<Tensor> p;
  if (w.peepholes.defined()) p = chunk(w.peepholes, 3, 0);
  const auto seen = [&](size_t gate, size_t peephole, const Tensor& cell) {
    return o.gate(w.direction, 0, p.empty() ? g[gate] : add(g[gate], mul(p[peephole], cell)));
  };
  const Tensor in = seen(0, 0, state.c);
  const Tensor forget = coupled ? sub(1, in) : seen(1, 2, state.c);
  const Tensor c = add(mul(forget, state.c), mul(in, o.gate(w.direction, 1, g[2])));
  return {mul(seen(3, 1, c), o.apply(w.direction, 2, c)), c};
}

// Gates i, o, f, c in the file; the op's are i, f, c, o.
Run lstm(const Node& node) {
  const RecurrentAttributes o("LSTM", node, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = node.flag("input_forget", false);
  return [=](const Inputs& x) -> Tensors {
    return recur(o, x, 2, {0, 2, 3, 1},
                 [&](const Weights& w, const Tensor& gates, Tensors& states) {
                   const Tensor hidden = linear(states[0], w.r, w.r_bias);
                   const LstmState next =
                       o.is_usual && !coupled && !w.peepholes.defined()
                           ? kernel::lstm_gates(gates, hidden, states[1])
                           : lstm_step(o, coupled, w, add(gates, hidden), {states[0], states[1]});
                   states = {next.h, next.c};
                 });
  };
}

// Gates z, r, h in the file; the op's are r, z, n. The reset gate stands behind the recurrent
// product, as the op has it, or before.
Tensor gru_step(const RecurrentAttributes& o, bool behind, const Weights& w, const Tensor& gates,
                const Tensor& h) {
  const int64_t size = h.size(1);
  const auto part = [&](const Tensor& x, int64_t dim, int64_t first, int64_t count) {
    return x.defined() ? x.narrow(dim, first * size, count * size) : Tensor();
  };
  const auto product = [&](const Tensor& state, int64_t first, int64_t count) {
    return linear(state, part(w.r, 0, first, count), part(w.r_bias, 0, first, count));
  };
  const Tensor rz = o.gate(w.direction, 0, add(part(gates, 1, 0, 2), product(h, 0, 2)));
  const Tensor r = part(rz, 1, 0, 1), z = part(rz, 1, 1, 1);
  const Tensor hidden = behind ? mul(r, product(h, 2, 1)) : product(mul(r, h), 2, 1);
  const Tensor n = o.gate(w.direction, 1, add(part(gates, 1, 2, 1), hidden));
  return add(n, mul(z, sub(h, n)));
}

Run gru(const Node& node) {
  const RecurrentAttributes o("GRU", node, {"Sigmoid", "Tanh"});
  const bool behind = node.flag("linear_before_reset", false);
  return [=](const Inputs& x) -> Tensors {
    return recur(o, x, 1, {1, 0, 2}, [&](const Weights& w, const Tensor& gates, Tensors& states) {
      const Tensor h = states[0];
      states[0] = behind && o.is_usual ? kernel::gru_gates(gates, linear(h, w.r, w.r_bias), h)
                                       : gru_step(o, behind, w, gates, h);
    });
  };
}

Run rnn(const Node& node) {
  const RecurrentAttributes o("RNN", node, {"Tanh"});
  return [=](const Inputs& x) -> Tensors {
    return recur(o, x, 1, {0}, [&](const Weights& w, const Tensor& gates, Tensors& states) {
      states[0] = o.gate(w.direction, 0, add(gates, linear(states[0], w.r, w.r_bias)));
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
