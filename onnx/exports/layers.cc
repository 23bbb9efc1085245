#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/onnx/export_call.h>

#include <cmath>
#include <limits>

// Recurrent layers and their gates, and attention.
namespace aorta::onnx {
namespace {

// The columns of gates (N, count * hidden), a part each.
Names gates(const ExportCall& call, const std::string& value, size_t count, int64_t hidden) {
  const std::vector<int64_t> sizes(count, hidden);
  return call.nodes("Split", {value, call.integers(sizes)}, count, {attribute("axis", 1)});
}

Names lstm_gates(const ExportCall& call) {
  const std::string sum = call.node("Add", {call[0], call[1]});
  const Names g = gates(call, sum, 4, call.input(2).size(1));
  const std::string kept = call.node("Mul", {call.node("Sigmoid", {g[1]}), call[2]});
  const std::string fresh =
      call.node("Mul", {call.node("Sigmoid", {g[0]}), call.node("Tanh", {g[2]})});
  const std::string cell = call.node("Add", {kept, fresh});
  const std::string out = call.node("Sigmoid", {g[3]});
  return {call.node("Mul", {out, call.node("Tanh", {cell})}), cell};
}

Names gru_gates(const ExportCall& call) {
  const int64_t hidden = call.input(2).size(1);
  const Names x = gates(call, call[0], 3, hidden), h = gates(call, call[1], 3, hidden);
  const std::string reset = call.node("Sigmoid", {call.node("Add", {x[0], h[0]})});
  const std::string update = call.node("Sigmoid", {call.node("Add", {x[1], h[1]})});
  const std::string inner = call.node("Add", {x[2], call.node("Mul", {reset, h[2]})});
  const std::string fresh = call.node("Tanh", {inner});
  const std::string way = call.node("Mul", {update, call.node("Sub", {call[2], fresh})});
  return {call.node("Add", {fresh, way})};
}

// ---- Layers as a whole. Gates stand in another order than in ONNX: `order` has the places of its.

std::string unsqueezed(const ExportCall& call, const std::string& value) {
  return call.node("Unsqueeze", {value, call.integers({0})});
}
std::string joined(const ExportCall& call, const Names& parts) {
  return parts.size() == 1 ? parts[0] : call.node("Concat", parts, {attribute("axis", 0)});
}

std::string in_order(const ExportCall& call, const std::string& gates, int64_t hidden,
                     const std::vector<size_t>& order) {
  if (order.size() == 1) return gates;
  const std::vector<int64_t> sizes(order.size(), hidden);
  const Names parts =
      call.nodes("Split", {gates, call.integers(sizes)}, order.size(), {attribute("axis", 0)});
  Names result;
  for (const size_t place : order) result.push_back(parts[place]);
  return joined(call, result);
}

struct Layer {
  const char* op_type;
  std::vector<size_t> order;
  size_t states;
  Attributes attributes;
};

// Inputs: rows (T N, I), and of each direction w_ih, w_hh, b_ih, b_hh and the initial states; to
// rows (T N, D H), and of each direction the final states.
Names recurrent(const ExportCall& call, Layer layer) {
  const auto& [steps] = call.options<int64_t>();
  const size_t each = 4 + layer.states, directions = (call.inputs() - 1) / each;
  const int64_t hidden = call.input(2).size(1), batch = call.output(1).size(0);
  Names w, r, b;
  std::vector<Names> initial(layer.states);
  for (size_t d = 0; d < directions; ++d) {
    const size_t first = 1 + d * each;
    const auto ordered = [&](size_t i) {
      return in_order(call, call[first + i], hidden, layer.order);
    };
    w.push_back(unsqueezed(call, ordered(0)));
    r.push_back(unsqueezed(call, ordered(1)));
    if (call.has(first + 2)) b.push_back(unsqueezed(call, joined(call, {ordered(2), ordered(3)})));
    for (size_t s = 0; s < layer.states; ++s)
      if (call.has(first + 4 + s)) initial[s].push_back(unsqueezed(call, call[first + 4 + s]));
  }
  const std::string x = call.reshaped(call[0], {steps, batch, call.input(0).size(1)});
  Names inputs{x, joined(call, w), joined(call, r)};
  if (!b.empty() || !initial[0].empty()) {
    inputs.push_back(b.empty() ? "" : joined(call, b));
    inputs.emplace_back();  // the lengths
  }
  for (const Names& states : initial)
    if (!states.empty()) inputs.push_back(joined(call, states));
  while (inputs.back().empty()) inputs.pop_back();
  layer.attributes.push_back(attribute("hidden_size", hidden));
  layer.attributes.push_back(attribute("direction", directions == 2 ? "bidirectional" : "forward"));
  const Names made = call.nodes(layer.op_type, inputs, 1 + layer.states, layer.attributes);
  // (T, D, N, H) to rows.
  std::string rows = made[0];
  if (directions == 2)
    rows = call.node("Transpose", {rows}, {attribute("perm", std::vector<int64_t>{0, 2, 1, 3})});
  Names results{call.reshaped(rows, call.output(0).shape())};
  for (size_t d = 0; d < directions; ++d)
    for (size_t s = 0; s < layer.states; ++s)
      results.push_back(call.node("Gather", {made[1 + s], call.integer(static_cast<int64_t>(d))},
                                  {attribute("axis", 0)}));
  return results;
}

Names lstm(const ExportCall& call) { return recurrent(call, {"LSTM", {0, 3, 1, 2}, 2, {}}); }
Names gru(const ExportCall& call) {
  return recurrent(call, {"GRU", {1, 0, 2}, 1, {attribute("linear_before_reset", 1)}});
}
Names rnn_tanh(const ExportCall& call) { return recurrent(call, {"RNN", {0}, 1, {}}); }
Names rnn_relu(const ExportCall& call) {
  AttributeProto activations;
  activations.name = "activations";
  activations.kind = AttributeProto::Kind::texts;
  activations.strings.assign((call.inputs() - 1) / 5, "Relu");
  return recurrent(call, {"RNN", {0}, 1, {activations}});
}

Names attention(const ExportCall& call) {
  const auto& [is_causal, scale, dropout_p] = call.options<bool, double, double>();
  call.check(dropout_p == 0, "dropout_p must be 0", dropout_p);
  const Tensor &query = call.input(0), &key = call.input(1);
  const DType dtype = query.dtype();
  std::vector<int64_t> order;
  for (int d = 0; d < key.dim(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  const std::string columns = call.node("Transpose", {call[1]}, {attribute("perm", order)});
  const std::string scaled = call.node("Mul", {call[0], call.number(scale, dtype)});
  std::string scores = call.node("MatMul", {scaled, columns});
  const std::string never = call.number(-std::numeric_limits<double>::infinity(), dtype);
  if (call.has(3)) {
    const bool is_bool = call.input(3).dtype() == DType::boolean;
    scores = is_bool ? call.node("Where", {call[3], scores, never})
                     : call.node("Add", {scores, call.cast(call[3], call.input(3).dtype(), dtype)});
  }
  if (is_causal) {
    const Tensor seen = tril(ones({query.size(-2), key.size(-2)}, {.dtype = DType::boolean}));
    scores = call.node("Where", {call.constant(seen), scores, never});
  }
  std::string weights = call.node("Softmax", {scores}, {attribute("axis", -1)});
  // A query that sees no key gets zeros.
  if (call.has(3) && call.input(3).dtype() == DType::boolean)
    weights = call.node("Where", {call[3], weights, call.number(0, dtype)});
  return {call.node("MatMul", {weights, call[2]})};
}

}  // namespace

void add_layer_exports(Exports& table) {
  table["lstm"] = lstm;
  table["gru"] = gru;
  table["rnn_tanh"] = rnn_tanh;
  table["rnn_relu"] = rnn_relu;
  table["lstm_gates"] = lstm_gates;
  table["gru_gates"] = gru_gates;
  table["scaled_dot_product_attention"] = attention;
}

}  // namespace aorta::onnx
