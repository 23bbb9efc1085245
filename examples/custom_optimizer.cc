// An optimizer of one's own in ten lines, held to a known rule and to a trajectory, then at work.
#include <aorta/aorta.h>

#include <cmath>
#include <iostream>

using namespace aorta;

// Gradient descent with momentum and a decoupled weight decay.
struct MyOptions {
  optim::Option<double> lr = optim::Default(1e-2), momentum = optim::Default(0.9),
                        weight_decay = optim::Default(0);
  void fields(optim::Fields& f) {
    f("lr", lr), f("momentum", momentum), f("weight_decay", weight_decay);
  }
  void check() const { aorta::check(lr >= 0, "my_sgd", "lr must be at least 0", lr); }
};
struct MySgd : optim::CustomOptimizer<MyOptions> {
  using CustomOptimizer::CustomOptimizer;
  void update(optim::Slot& slot, const MyOptions& o) override {
    const Tensor velocity = slot.state("velocity");  // zeros at first; part of state_dict()
    mul_(velocity, o.momentum);
    add_(velocity, slot.gradient);
    mul_(slot.parameter, 1 - o.lr * o.weight_decay);
    sub_(slot.parameter, o.lr * velocity);
  }
};

// WrongSgd has a mistake that trains almost as well: the gradient's share is 1 - momentum.
struct WrongSgd : MySgd {
  using MySgd::MySgd;
  void update(optim::Slot& slot, const MyOptions& o) override {
    const Tensor velocity = slot.state("velocity");
    lerp_(velocity, slot.gradient, 1 - o.momentum);
    sub_(slot.parameter, o.lr * velocity);
  }
};

int main() {
  using namespace optim::oracle;
  const optim::SGDOptions rule{.lr = 0.05, .momentum = 0.9};
  const MyOptions options{.lr = 0.05, .momentum = 0.9};
  const auto report = [](const char* name, const Result& result) {
    std::cout << name << ": " << (result ? "as it should be" : result.message) << "\n";
    return static_cast<bool>(result);
  };
  bool good = report("MySgd against SGD's closed forms", check_rule(maker<MySgd>(options), rule));
  good &= report("MySgd's conduct", check_conduct(maker<MySgd>(options)));
  good &= !report("WrongSgd", check_rule(maker<WrongSgd>(options), rule));

  // A trajectory of one's own: without a gradient, decay alone is 0.5^t.
  Trajectory halving{{.name = "decay alone", .start = {8}, .curvature = {0}, .slope = {0}},
                     {{4}, {2}, {1}}};
  good &= report("MySgd's decay",
                 check_trajectory(maker<MySgd>({.lr = 0.1, .weight_decay = 5}), halving));

  // At work: a line through points.
  const Tensor x = linspace(-1, 1, 50), y = 3 * x - 0.5;
  const Tensor slope = zeros({}, {.requires_grad = true}),
               offset = zeros({}, {.requires_grad = true});
  MySgd optimizer({slope, offset}, {.lr = 0.05});
  optim::CosineAnnealingLR schedule(optimizer, {.T_max = 200});
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    mse_loss(slope * x + offset, y).backward();
    optimizer.step();
    schedule.step();
  }
  std::cout << "y = " << slope.item<float>() << " x + " << offset.item<float>() << "\n";
  good &= std::abs(slope.item<float>() - 3) < 0.01 && std::abs(offset.item<float>() + 0.5) < 0.01;
  return good ? 0 : 1;
}
