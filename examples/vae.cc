// A variational autoencoder (Kingma and Welling 2014) of the MNIST digits, which then makes up new
// ones.
//
//     vae [EPOCHS = 10] [FOLDER = what AORTA_MNIST names]      writes vae.png
//
// The loss is an upper bound of a digit's negative log likelihood, in nats: about 106 at the end.
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;

struct Vae : nn::ModuleOf<Vae> {
  struct Output {
    Tensor image, mean, log_variance;
  };
  Vae(int64_t pixels, int64_t hidden, int64_t code)
      : fc1(*this, "fc1", pixels, hidden),
        fc21(*this, "fc21", hidden, code),
        fc22(*this, "fc22", hidden, code),
        fc3(*this, "fc3", code, hidden),
        fc4(*this, "fc4", hidden, pixels) {}
  Tensor decode(const Tensor& z) const { return fc4(fc3(z).relu()).sigmoid(); }
  // x (N, pixels) in [0, 1], noise (N, code) standard normal.
  Output forward(const Tensor& x, const Tensor& noise) const {
    const Tensor h = fc1(x).relu(), mean = fc21(h), log_variance = fc22(h);
    return {decode(mean + noise * (0.5 * log_variance).exp()), mean, log_variance};
  }
  nn::Linear fc1, fc21, fc22, fc3, fc4;
};

// Reconstruction and the divergence from the standard normal distribution, summed over the batch.
Tensor vae_loss(const Vae::Output& y, const Tensor& x) {
  const Tensor error = nn::binary_cross_entropy(y.image, x, {.reduction = Reduction::sum});
  return error - 0.5 * (1 + y.log_variance - y.mean.square() - y.log_variance.exp()).sum();
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  manual_seed(0);
  const int epochs = argc > 1 ? std::stoi(argv[1]) : 10;
  const auto digits = data::make_dataset<data::Mnist>(argc > 2 ? argv[2] : "mnist");
  data::DataLoader loader(digits, {.batch_size = 128, .shuffle = true});
  const Vae net(784, 400, 20);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0;
    for (const auto& batch : loader) {
      const Tensor x = batch["image"].flatten(1);
      const Tensor loss = vae_loss(net(x, randn({x.size(0), 20})), x);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      total += loss.item<double>();
    }
    std::cout << "epoch " << epoch << ": loss " << total / digits->size() << std::endl;
  }
  const NoGradGuard no_grad;
  const Tensor images = net.decode(randn({64, 20})).view(8, 8, 28, 28).permute(0, 2, 1, 3);
  data::write_png((255 * images.reshape(8 * 28, 8 * 28)).to(u8), "vae.png");
  std::cout << "wrote vae.png\n";
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
