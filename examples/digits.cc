// A network that reads handwritten digits: the whole of a training program.
//
//     AORTA_MNIST=/where/the/four/files/lie digits      writes net.safetensors
#include <aorta/aorta.h>
using namespace aorta;

struct Net : nn::Module {
  nn::Linear hidden{*this, "hidden", 784, 128};
  nn::Linear output{*this, "output", 128, 10};
  Tensor forward(const Tensor& x) const { return output(hidden(x).relu()); }
};

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  auto digits = data::make_dataset<data::Mnist>("mnist", data::Split::train);
  data::DataLoader loader(digits, {.batch_size = 64, .shuffle = true, .num_workers = 2});
  Net net;
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  for (int epoch = 0; epoch < 5; ++epoch)
    for (const auto& batch : loader) {
      optimizer.zero_grad();
      Tensor loss = nn::cross_entropy(net(batch["image"].flatten(1)), batch["label"]);
      loss.backward();
      optimizer.step();
    }
  save(net.state_dict(), "net.safetensors");
}
