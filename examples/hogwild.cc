// Hogwild (Niu et al. 2011): processes that train one network, whose parameters lie in memory that
// all of them read and write, without any locks.
//
//     hogwild [PROCESSES = 2] [EPOCHS = 2] [FOLDER = mnist]
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

struct Net : nn::Module {
  nn::Conv2d front{*this, "front", 1, 10, 5}, back{*this, "back", 10, 20, 5};
  nn::Linear hidden{*this, "hidden", 320, 50}, output{*this, "output", 50, 10};
  nn::Dropout drop{*this, "drop", 0.5};
  Tensor forward(const Tensor& x) const override {
    const Tensor planes = max_pool2d(back(max_pool2d(front(x), 2).relu()), 2).relu();
    return output(drop(hidden(planes.flatten(1)).relu()));
  }
};

// A process of its own, which shares nothing with the others but what is in `shared`.
void train(int64_t rank, int64_t epochs, const std::string& folder, const NamedTensors& shared) {
  manual_seed(static_cast<uint64_t>(rank));
  Net net;
  net.load_state_dict(shared, {.assign = true});  // these very parameters, no copies
  optim::SGD optimizer(net.parameters(), {.lr = 0.02, .momentum = 0.5});
  const auto digits = data::make_dataset<data::Mnist>(folder, data::Split::train);
  data::DataLoader loader(digits, {.batch_size = 64, .shuffle = true});
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0;
    for (const auto& batch : loader) {
      optimizer.zero_grad();
      const Tensor loss = nn::cross_entropy(net(batch["image"]), batch["label"]);
      loss.backward();
      optimizer.step();
      total += loss.item();
    }
    std::cout << "process " << rank << ", epoch " << epoch << ": loss "
              << total / static_cast<double>(loader.size()) << std::endl;
  }
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  const int64_t processes = argc > 1 ? std::stoll(argv[1]) : 2;
  const int64_t epochs = argc > 2 ? std::stoll(argv[2]) : 2;
  const std::string folder = argc > 3 ? argv[3] : "mnist";

  manual_seed(0);
  Net net;
  net.share_memory();
  std::vector<data::Process> workers;
  for (int64_t rank = 1; rank <= processes; ++rank)
    workers.emplace_back(StartMethod::spawn, train, rank, epochs, folder, net.state_dict());
  for (data::Process& worker : workers)
    if (worker.join() != 0) return 1;

  net.eval();
  const NoGradGuard no_grad;
  const data::Mnist unseen(folder, data::Split::test);
  const Tensor right = net(unseen.images()).argmax(1) == unseen.labels();
  std::cout << 100 * right.to(f32).mean().item() << " % of the test set right\n";
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
