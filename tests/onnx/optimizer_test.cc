#include <aorta/optim/sgd.h>
#include <aorta/tests/onnx/published.h>
#include <gtest/gtest.h>

#include <cmath>

// ONNX publishes cases of an optimizer's step too, in a domain of training operators that aren't of
// networks: the optimizer here is held to them. (Of Adam too: theirs adds epsilon in front of the
// bias correction and corrects from step 0, PyTorch's and ours don't.)
namespace aorta::onnx {
namespace {

// Published: R (the learning rate), T (steps so far), X, its gradient, its velocity; X and the
// velocity after the step.
std::vector<Tensor> step(const nlohmann::json& a, const std::vector<Tensor>& inputs) {
  const Tensor x = inputs[2].clone().requires_grad_();
  const double beta = a.at("beta");
  optim::SGD sgd({x}, {.lr = inputs[0].item<double>(),
                       .momentum = a.at("alpha").get<double>(),
                       .dampening = inputs[1].item<int64_t>() > 0 ? 1 - beta : 0,
                       .weight_decay = a.at("norm_coefficient").get<double>(),
                       .nesterov = a.at("mode") == "nesterov"});
  State state = sgd.state_dict();
  state.set("state.0.step", int64_t{1});
  state.set("state.0.momentum_buffer", inputs[4]);
  sgd.load_state_dict(state);
  x.set_grad(inputs[3]);
  sgd.step();
  return {x.detach(), sgd.state_dict().tensors().at("state.0.momentum_buffer")};
}

TEST(OnnxOptimizer, PublishedMomentum) {
  if (published::folder().empty()) GTEST_SKIP() << "AORTA_ONNX_VECTORS names no folder";
  int ran = 0;
  for (const auto& entry : published::cases()) {
    if (entry["op"] != "Momentum") continue;
    SCOPED_TRACE(entry["name"].get<std::string>());
    const npz::Reader& all = published::vectors("Momentum");
    std::vector<Tensor> inputs;
    for (const auto& key : entry["inputs"]) inputs.push_back(all.tensor(key.get<std::string>()));
    if (inputs.size() != 5) continue;  // of several tensors at once
    const std::vector<Tensor> results = step(entry["attributes"], inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      const std::vector<double> a = results[i].to_vector<double>();
      const std::vector<double> b =
          all.tensor(entry["outputs"][i].get<std::string>()).to_vector<double>();
      ASSERT_EQ(a.size(), b.size());
      for (size_t k = 0; k < a.size(); ++k)
        EXPECT_NEAR(a[k], b[k], 1e-6 * std::abs(b[k]) + 1e-6) << "output " << i << ", " << k;
    }
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace aorta::onnx
