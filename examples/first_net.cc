// The first network: 256 numbers in, 10 out, and a training loop in which nothing is hidden.
//
//     first_net [STEPS = 100] [LEARNING RATE = 0.002]
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

struct Net : nn::Module {
  nn::Linear fc1{*this, "fc1", 256, 120};
  nn::Linear fc2{*this, "fc2", 120, 84};
  nn::Linear fc3{*this, "fc3", 84, 10};
  Tensor forward(const Tensor& x) const override { return fc3(fc2(fc1(x).relu()).relu()); }
};

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 100;
  const double learning_rate = argc > 2 ? std::stod(argv[2]) : 0.002;

  manual_seed(0);
  const Net net;
  std::cout << net << "\n\n";
  const Tensor input = randn({256});                    // one sample: no batch dimension
  const Tensor target = arange(1, 11, {.dtype = f32});  // 1, 2, ... 10

  for (int step = 0; step <= steps; ++step) {
    const Tensor loss = nn::mse_loss(net(input), target);
    if (step % (steps < 10 ? 1 : steps / 10) == 0)
      std::cout << "step " << step << ": loss " << loss.item<float>() << "\n";
    loss.backward();
    const NoGradGuard no_grad;  // what follows is not part of the graph
    for (const Tensor& parameter : net.parameters()) {
      sub_(parameter, learning_rate * parameter.grad());
      parameter.set_grad({});
    }
  }
  std::cout << "\noutput: " << net(input).detach() << "\n";
}
