#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/onnx/export_call.h>

#include <cmath>
#include <limits>

// Gates of recurrent layers, and attention.
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
  table["lstm_gates"] = lstm_gates;
  table["gru_gates"] = gru_gates;
  table["scaled_dot_product_attention"] = attention;
}

}  // namespace aorta::onnx
