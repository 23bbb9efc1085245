#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/nn/recurrent.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

// Gates as PyTorch orders them: `order` has the published places.
Tensor in_order(const Tensor& gates, const std::vector<int64_t>& order) {
  const std::vector<Tensor> parts = chunk(gates, static_cast<int64_t>(order.size()), 0);
  std::vector<Tensor> result;
  for (const int64_t place : order) result.push_back(parts[static_cast<size_t>(place)]);
  return cat(result, 0);
}

// Published: X (T, N, I), W (1, G H, I), R (1, G H, H) and, side by side, both biases (1, 2 G H).
void set_weights(nn::Module& layer, const Case& c, const std::vector<int64_t>& order) {
  const NoGradGuard no_grad;
  const Tensor bias = c.has(3) ? c.inputs[3][0] : zeros({2 * c.inputs[1].size(1)});
  const std::vector<Tensor> biases = chunk(bias, 2, 0);
  const std::map<std::string, Tensor> values{{"weight_ih_l0", c.inputs[1][0]},
                                             {"weight_hh_l0", c.inputs[2][0]},
                                             {"bias_ih_l0", biases[0]},
                                             {"bias_hh_l0", biases[1]}};
  for (auto& [name, parameter] : layer.named_parameters())
    parameter.copy_(in_order(values.at(name), order));
}

// The outputs, and then the last state, in the published form: Y (T, 1, N, H) and (1, N, H); with
// layout 1 the samples come first.
Tensors published(const Case& c, const Tensor& y, const Tensor& h) {
  if (c.integer("layout", 0) == 0) return {y.unsqueeze(1), h};
  return {y.unsqueeze(2), h.transpose(0, 1)};
}

template <class Layer>
Tensors layer_of(const Case& c, const std::vector<int64_t>& order) {
  const NoGradGuard no_grad;
  Layer layer(c.inputs[0].size(2), c.integer("hidden_size", 0),
              {.batch_first = c.integer("layout", 0) == 1});
  set_weights(layer, c, order);
  const auto result = layer(c.inputs[0]);
  if constexpr (std::is_same_v<Layer, nn::LSTM>)
    return published(c, result.output, result.state.h);
  else
    return published(c, result.output, result.h);
}

// Published with linear_before_reset = 0 the reset gate stands before the recurrent product;
// cuDNN's and PyTorch's, ours too, behind it. In one step from zeros without that product's bias
// they agree.
std::string resets_before(const Case& c) {
  const int64_t time = c.integer("layout", 0);
  const bool biased = c.has(3) && any(ne(chunk(c.inputs[3][0], 2, 0)[1], 0)).item<bool>();
  const bool agree = c.inputs[0].size(static_cast<int>(time)) == 1 && !c.has(5) && !biased;
  return agree || c.integer("linear_before_reset", 0) == 1
             ? ""
             : "its reset gate stands before the recurrent product (linear_before_reset = 0)";
}

}  // namespace

void add_recurrent(Operators& table) {
  table["LSTM"] = {[](const Case& c) { return layer_of<nn::LSTM>(c, {0, 2, 3, 1}); }, 1e-6, 1e-6};
  table["RNN"] = {[](const Case& c) { return layer_of<nn::RNN>(c, {0}); }, 1e-6, 1e-6};
  table["GRU"] = {[](const Case& c) {
                    return layer_of<nn::GRU>(c, {1, 0, 2});
                  },
                  1e-6, 1e-6, resets_before};
}

}  // namespace aorta::onnx
