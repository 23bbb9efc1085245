// A problem whose features are rare: there it pays that each parameter has a step size of its own.
//
//     optimizer_race_sparse [ITERATIONS = 2000] [FOLDER = .]      writes race_sparse.svg
//
// Of 1,020 features 20 are always there and say nothing. The label follows from the 1,000 others,
// each of which is there in one of 200 samples: a plain step that is large enough for these makes
// the 20 rattle. Every optimizer runs with the best of five learning rates.
#include <aorta/aorta.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include <aorta/report/plot.h>

using namespace aorta;
using optim::oracle::maker;

struct Samples {
  Tensor x, y;  // (N, 1020), (N, 1)
};
Samples draw(int64_t count, const Tensor& truth, Generator& random) {
  const Tensor rare = (rand({count, 1000}, {}, &random) < 0.005).to(f32);
  const Tensor always = 2 * randn({count, 20}, {}, &random);
  return {cat({always, rare}, 1), (matmul(rare, truth) > 0).to(f32)};
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const int64_t iterations = argc > 1 ? std::stoll(argv[1]) : 2000;
  const std::string folder = argc > 2 ? argv[2] : ".";
  const std::pair<std::string, optim::oracle::MakeOptimizer> racers[] = {
      {"SGD", maker<optim::SGD>({})},
      {"momentum", maker<optim::SGD>({.momentum = 0.9})},
      {"Nesterov", maker<optim::SGD>({.momentum = 0.9, .nesterov = true})},
      {"Adagrad", maker<optim::Adagrad>({})},
      {"Adadelta", maker<optim::Adadelta>({})},
      {"Adam", maker<optim::Adam>({})}};

  Generator world(0);
  const Tensor truth = randn({1000, 1}, {}, &world);
  const Samples unseen = draw(4000, truth, world);
  report::Plot plot({"Rare features", {"iteration"}, {"loss on unseen samples"}});
  std::string winner;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, make] : racers) {
    std::vector<double> x, best{std::numeric_limits<double>::infinity()};
    double best_lr = 0;
    for (const double lr : {0.001, 0.01, 0.1, 1.0, 10.0}) {
      nn::Linear net(1020, 1, {.bias = false});
      nn::init::zeros_(net.weight);
      const auto optimizer = make({net.weight});
      optimizer->set_lr(lr);
      Generator random(1);  // the same samples for each
      const auto loss_on = [&](const Samples& samples) {
        return nn::binary_cross_entropy_with_logits(net(samples.x), samples.y);
      };
      std::vector<double> losses;
      x.clear();
      for (int64_t i = 0; i <= iterations; ++i) {
        if (i % std::max<int64_t>(iterations / 50, 1) == 0) {
          const NoGradGuard no_grad;
          x.push_back(i);
          losses.push_back(loss_on(unseen).item<double>());
        }
        optimizer->zero_grad();
        loss_on(draw(16, truth, random)).backward();
        optimizer->step();
      }
      if (losses.back() < best.back()) best = losses, best_lr = lr;
    }
    plot.line(name, x, best);
    std::cout << name << ": loss " << best.back() << " with lr " << best_lr << std::endl;
    if (best.back() < least) least = best.back(), winner = name;
  }
  plot.save(folder + "/race_sparse.svg");
  std::cout << winner << " won\nwrote " << folder << "/race_sparse.svg\n";
}
