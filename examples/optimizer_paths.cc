// The ways of optimizers down a long, narrow valley, as a picture.
//
//     optimizer_paths [FOLDER = .] [NAME... = momentum nesterov]      writes optimizer_paths.svg
//
// Momentum swings from wall to wall; Nesterov's looks ahead and brakes.
#include <aorta/aorta.h>

#include <algorithm>
#include <iostream>
#include <map>

#include <aorta/report/plot.h>

using namespace aorta;
using optim::oracle::maker;

// Numbers or tensors alike: the contours and the gradients are of one function.
template <class T>
T surface(const T& x, const T& y) {
  return x * x / 20 + y * y;
}
constexpr int kSteps = 60;

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const std::string folder = argc > 1 ? argv[1] : ".";
  std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  if (names.empty()) names = {"momentum", "nesterov"};

  // In the paper's dialect Nesterov's gradient is taken ahead and the point stays where it is; in
  // PyTorch's the parameter is the point ahead.
  const auto paper = optim::Dialect::paper;
  const std::map<std::string, optim::oracle::MakeOptimizer> optimizers{
      {"sgd", maker<optim::SGD>({.lr = 0.1})},
      {"momentum", maker<optim::SGD>({.lr = 0.1, .momentum = 0.9, .dialect = paper})},
      {"nesterov",
       maker<optim::SGD>({.lr = 0.1, .momentum = 0.9, .nesterov = true, .dialect = paper})},
      {"adagrad", maker<optim::Adagrad>({.lr = 1.5})},
      {"adadelta", maker<optim::Adadelta>({.lr = 100})},
      {"rmsprop", maker<optim::RMSprop>({.lr = 0.2})},
      {"adam", maker<optim::Adam>({.lr = 0.3})},
      {"adamw", maker<optim::AdamW>({.lr = 0.3})},
      {"adamax", maker<optim::Adamax>({.lr = 0.3})},
      {"nadam", maker<optim::NAdam>({.lr = 0.3})}};

  report::Plot plot(
      {.title = "f(x, y) = x²/20 + y² from (-7, 2), " + std::to_string(kSteps) + " steps",
       .x = {.label = "x", .low = -8, .high = 4},
       .y = {.label = "y", .low = -2.5, .high = 2.5}});
  plot.contours(surface<double>);
  for (const std::string& name : names) {
    const auto make = optimizers.find(name);
    if (make == optimizers.end()) {
      std::cerr << "no optimizer is called " << name << "; there are";
      for (const auto& known : optimizers) std::cerr << " " << known.first;
      std::cerr << "\n";
      return 1;
    }
    const Tensor point = tensor({-7, 2}, {.dtype = f64, .requires_grad = true});
    const auto optimizer = make->second({point});
    std::vector<double> x{-7}, y{2};
    for (int step = 0; step < kSteps; ++step) {
      optimizer->step([&] {
        optimizer->zero_grad();
        const Tensor loss = surface(point[0], point[1]);
        loss.backward();
        return loss;
      });
      x.push_back(point[0].item<double>());
      y.push_back(point[1].item<double>());
    }
    plot.path(name, x, y);
    std::cout << name << ": f = " << surface(x.back(), y.back()) << " at (" << x.back() << ", "
              << y.back() << ")\n";
  }
  plot.save(folder + "/optimizer_paths.svg");
  std::cout << "wrote " << folder << "/optimizer_paths.svg\n";
}
