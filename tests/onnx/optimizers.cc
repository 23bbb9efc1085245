#include <aorta/optim/sgd.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

// Published: R (the learning rate), T (steps so far), X, its gradient, its velocity; X and the
// velocity after the step.
Tensors momentum_of(const Case& c) {
  const Tensor x = c.inputs[2].clone().requires_grad_();
  optim::SGD sgd({x}, {.lr = c.inputs[0].item<double>(),
                       .momentum = c.number("alpha", 0),
                       .dampening = c.inputs[1].item<int64_t>() > 0 ? 1 - c.number("beta", 1) : 0,
                       .weight_decay = c.number("norm_coefficient", 0),
                       .nesterov = c.text("mode", "standard") == "nesterov"});
  State state = sgd.state_dict();
  state.set("state.0.step", int64_t{1});
  state.set("state.0.momentum_buffer", c.inputs[4]);
  sgd.load_state_dict(state);
  x.set_grad(c.inputs[3]);
  sgd.step();
  return {x.detach(), sgd.state_dict().tensors().at("state.0.momentum_buffer")};
}

}  // namespace

void add_optimizers(Operators& table) { table["Momentum"] = {momentum_of, 1e-6, 1e-6}; }

}  // namespace aorta::onnx
