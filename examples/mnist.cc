// Two networks of the books on the MNIST digits.
//
//     mnist [lenet|nielsen|both = both] [EPOCHS = 5 and 30] [FOLDER = what AORTA_MNIST names]
//
// LeNet-5 reaches 99 % in 5 epochs; the first net of Nielsen's "Neural Networks and Deep Learning"
// (784-30-10 sigmoids, quadratic cost, mini-batches of 10, learning rate 3) 95 % in 30.
#include <aorta/aorta.h>

#include <chrono>
#include <functional>
#include <iostream>

using namespace aorta;

double accuracy(const nn::Module& net, const std::shared_ptr<const data::Mnist>& digits) {
  const NoGradGuard no_grad;
  int64_t right = 0;
  for (const auto& batch : data::DataLoader(digits, {.batch_size = 1000}))
    right += (net(batch["image"]).argmax(1) == batch["label"]).sum().item<int64_t>();
  return 100.0 * right / digits->size();
}

using Loss = std::function<Tensor(const Tensor& output, const Tensor& label)>;

void train(const std::string& name, const nn::Module& net, optim::Optimizer& optimizer,
           optim::LRScheduler* schedule, const Loss& loss_of, data::DataLoader& loader, int epochs,
           const std::shared_ptr<const data::Mnist>& unseen) {
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& batch : loader) {
      optimizer.zero_grad();
      loss_of(net(batch["image"]), batch["label"]).backward();
      optimizer.step();
      if (schedule) schedule->step();
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::cout << name << ", epoch " << epoch << ": " << accuracy(net, unseen)
              << " % of the test set right, " << time.count() << " s" << std::endl;
  }
}

nn::Sequential make_nielsen() {
  return nn::Sequential{nn::Flatten(), nn::Linear(784, 30), nn::Sigmoid(), nn::Linear(30, 10),
                        nn::Sigmoid()};
}
Tensor quadratic_cost(const Tensor& output, const Tensor& label) {
  return (output - one_hot(label, 10)).square().sum() / 20;
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  manual_seed(1);
  const std::string which = argc > 1 ? argv[1] : "both", folder = argc > 3 ? argv[3] : "mnist";
  const int wish = argc > 2 ? std::stoi(argv[2]) : 0;
  const auto digits = data::make_dataset<data::Mnist>(folder, data::Split::train);
  const auto unseen = data::make_dataset<data::Mnist>(folder, data::Split::test);
  if (which != "nielsen") {
    const int epochs = wish ? wish : 5;
    data::DataLoader loader(digits, {.batch_size = 64, .shuffle = true});
    const models::LeNet5 net;
    optim::Adam optimizer(net.parameters());
    optim::OneCycleLR schedule(optimizer,
                               {.max_lr = {4e-3}, .total_steps = epochs * loader.size()});
    const Loss loss = [](const Tensor& y, const Tensor& t) { return nn::cross_entropy(y, t); };
    train("LeNet-5", net, optimizer, &schedule, loss, loader, epochs, unseen);
  }
  if (which != "lenet") {
    data::DataLoader loader(digits, {.batch_size = 10, .shuffle = true});
    const nn::Sequential net = make_nielsen();
    for (const Tensor& parameter : net.parameters()) nn::init::normal_(parameter);
    optim::SGD optimizer(net.parameters(), {.lr = 3});
    train("784-30-10", net, optimizer, nullptr, quadratic_cost, loader, wish ? wish : 30, unseen);
  }
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
