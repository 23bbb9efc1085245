// A layer of one's own, with a parameter and an op whose gradient is written by hand: the "snake",
// x + sin(a x)^2 / a (Ziyin et al. 2020), which lets a network learn what is periodic.
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

struct SnakeFunction : autograd::Function<SnakeFunction> {
  static constexpr const char* name = "snake";
  // x (N, F), a (F) -> (N, F)
  static std::vector<Tensor> forward(FunctionContext& context, const Tensor& x, const Tensor& a) {
    context.save_for_backward({x, a});
    return {x + square(sin(a * x)) / a};
  }
  // One gradient for each argument of forward.
  static std::vector<Tensor> backward(FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    const Tensor x = context.saved_tensors()[0], a = context.saved_tensors()[1];
    const Tensor to_x = 1 + sin(2 * a * x);
    const Tensor to_a = x * sin(2 * a * x) / a - square(sin(a * x)) / square(a);
    return {gradients[0] * to_x, (gradients[0] * to_a).sum(0)};
  }
};

struct Snake : nn::Module {
  explicit Snake(int64_t features) : a(*this, "a", ones({features})) {}
  Snake(nn::Module& owner, const char* name, int64_t features) : Snake(features) {
    join(owner, name);  // makes it a member of another module: Snake snake{*this, "snake", 32};
  }
  Tensor forward(const Tensor& x) const override { return SnakeFunction::apply(x, a)[0]; }
  std::string extra_repr() const override { return "features=" + std::to_string(a.numel()); }

  nn::Parameter a;
};

// The loss on [5, 10] of a network that was trained on [-5, 5].
double learn_sine(nn::Sequential net) {
  const Tensor x = linspace(-5, 5, 200).view({200, 1}), y = sin(2 * x);
  optim::Adam optimizer(net.parameters(), {.lr = 5e-3});
  for (int step = 0; step < 3000; ++step) {
    optimizer.zero_grad();
    nn::mse_loss(net(x), y).backward();
    optimizer.step();
  }
  const Tensor beyond = linspace(5, 10, 100).view({100, 1});
  return nn::mse_loss(net(beyond), sin(2 * beyond)).item<double>();
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);

  // The gradient and its own gradient against finite differences, in f64.
  Snake layer(3);
  layer.to(f64);
  const Tensor x = randn({4, 3}, {.dtype = f64, .requires_grad = true});
  const auto function = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{SnakeFunction::apply(in[0], in[1])[0]};
  };
  for (const auto& result : {autograd::gradcheck(function, {x, layer.a}),
                             autograd::gradgradcheck(function, {x, layer.a})}) {
    std::cout << "gradient: " << (result ? "right" : result.message) << "\n";
    if (!result) return 1;
  }

  const nn::Sequential net{nn::Linear(1, 32), Snake(32), nn::Linear(32, 1)};
  std::cout << net << "\n";
  std::cout << "sin(2x), learned on [-5, 5], mean squared error on [5, 10]:\n"
            << "  with snakes " << learn_sine(net) << "\n  with ReLU "
            << learn_sine(nn::Sequential{nn::Linear(1, 32), nn::ReLU(), nn::Linear(32, 1)}) << "\n";
}
