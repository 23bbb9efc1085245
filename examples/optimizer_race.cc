// Six optimizers on three networks for the MNIST digits, as pictures.
//
//     optimizer_race [ITERATIONS = 20000] [BATCH = 128, or 1, or all] [FOLDER = .]
//
// Writes race_softmax.svg, race_sigmoid.svg and race_deep.svg to FOLDER.
#include <aorta/aorta.h>

#include <algorithm>
#include <iostream>

#include <aorta/report/plot.h>

using namespace aorta;
using optim::oracle::maker;

// Trains with the losses that `next_loss` gives and draws 200 points of their exponential mean.
double train(optim::Optimizer& optimizer, int64_t iterations, report::Plot& plot,
             const std::string& name, const std::function<Tensor()>& next_loss) {
  std::vector<double> x, y;
  double mean = 0;
  for (int64_t i = 1; i <= iterations; ++i) {
    optimizer.zero_grad();
    const Tensor loss = next_loss();
    loss.backward();
    optimizer.step();
    mean += (loss.item<double>() - mean) / std::min<int64_t>(i, 200);
    if (i % std::max<int64_t>(iterations / 200, 1) == 0) x.push_back(i), y.push_back(mean);
  }
  plot.line(name, x, y);
  return mean;
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  const int64_t iterations = argc > 1 ? std::stoll(argv[1]) : 20000;
  const std::string batch = argc > 2 ? argv[2] : "128", folder = argc > 3 ? argv[3] : ".";
  const double scale = batch == "1" ? 0.1 : 1;  // of learning rates: one sample says little
  const std::pair<std::string, optim::oracle::MakeOptimizer> racers[] = {
      {"SGD", maker<optim::SGD>({.lr = 0.1 * scale})},
      {"momentum", maker<optim::SGD>({.lr = 0.05 * scale, .momentum = 0.9})},
      {"Nesterov", maker<optim::SGD>({.lr = 0.05 * scale, .momentum = 0.9, .nesterov = true})},
      {"Adagrad", maker<optim::Adagrad>({.lr = 0.02 * scale})},
      {"Adadelta", maker<optim::Adadelta>({.lr = scale})},
      {"Adam", maker<optim::Adam>({.lr = 0.001 * scale})}};

  manual_seed(0);
  using namespace nn;
  const std::pair<std::string, Sequential> nets[] = {
      {"softmax", Sequential{Linear(784, 10)}},
      {"sigmoid", Sequential{Linear(784, 100), Sigmoid(), Linear(100, 10)}},
      {"deep", Sequential{Linear(784, 300), Sigmoid(), Linear(300, 100), ReLU(), Linear(100, 50),
                          Sigmoid(), Linear(50, 10)}}};
  const data::Mnist digits;
  const Tensor images = digits.images().flatten(1), labels = digits.labels();

  for (const auto& [net_name, start] : nets) {
    report::Plot plot({net_name + ", batch " + batch, {"iteration"}, {"loss", report::Scale::log}});
    for (const auto& [name, make] : racers) {
      const Sequential net = clone(start);
      const auto optimizer = make(net.parameters());
      Generator random(1);  // the same batches for each
      const double loss = train(*optimizer, iterations, plot, name, [&] {
        if (batch == "all") return cross_entropy(net(images), labels);
        const Tensor some = randint(images.size(0), {std::stoll(batch)}, {}, &random);
        return cross_entropy(net(index_select(images, 0, some)), index_select(labels, 0, some));
      });
      std::cout << net_name << ", " << name << ": loss " << loss << std::endl;
    }
    plot.save(folder + "/race_" + net_name + ".svg");
    std::cout << "wrote " << folder << "/race_" << net_name << ".svg\n";
  }
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
