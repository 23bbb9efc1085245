// A deep convolutional GAN (Radford et al. 2016) of the MNIST digits: one network makes images up,
// another one tells them from real ones, and each learns from the other.
//
//     dcgan [EPOCHS = 5] [FOLDER = what AORTA_MNIST names] [PLANES = 32]      writes dcgan.png
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;
constexpr int64_t kNoise = 64;

// (N, 64, 1, 1) -> (N, 1, 28, 28) in [-1, 1]
nn::Sequential make_generator(int64_t planes) {
  return nn::Sequential{
      nn::ConvTranspose2d(kNoise, 2 * planes, 7, {.bias = false}),
      nn::BatchNorm2d(2 * planes),
      nn::ReLU(),
      nn::ConvTranspose2d(2 * planes, planes, 4, {.stride = 2, .padding = 1, .bias = false}),
      nn::BatchNorm2d(planes),
      nn::ReLU(),
      nn::ConvTranspose2d(planes, 1, 4, {.stride = 2, .padding = 1, .bias = false}),
      nn::Tanh()};
}

// (N, 1, 28, 28) -> logits (N, 1, 1, 1)
nn::Sequential make_discriminator(int64_t planes) {
  return nn::Sequential{
      nn::Conv2d(1, planes, 4, {.stride = 2, .padding = 1, .bias = false}),
      nn::LeakyReLU(0.2),
      nn::Conv2d(planes, 2 * planes, 4, {.stride = 2, .padding = 1, .bias = false}),
      nn::BatchNorm2d(2 * planes),
      nn::LeakyReLU(0.2),
      nn::Conv2d(2 * planes, 1, 7, {.bias = false})};
}

Tensor bce(const Tensor& logits, double target) {
  return nn::binary_cross_entropy_with_logits(logits, full_like(logits, target));
}

struct Losses {
  double discriminator, generator;
};
Losses train_step(const nn::Module& G, const nn::Module& D, optim::Optimizer& of_g,
                  optim::Optimizer& of_d, const Tensor& real, const Tensor& noise) {
  const Tensor made = G(noise);
  of_d.zero_grad();
  const Tensor loss_d = bce(D(real), 1) + bce(D(made.detach()), 0);
  loss_d.backward();
  of_d.step();
  of_g.zero_grad();
  const Tensor loss_g = bce(D(made), 1);
  loss_g.backward();
  of_g.step();
  return {loss_d.item<double>(), loss_g.item<double>()};
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const int epochs = argc > 1 ? std::stoi(argv[1]) : 5;
  const int64_t planes = argc > 3 ? std::stoi(argv[3]) : 32;
  const auto digits = data::make_dataset<data::Mnist>(
      argc > 2 ? argv[2] : "mnist", data::Split::train, data::MnistOptions{.mean = .5, .std = .5});
  data::DataLoader loader(digits, {.batch_size = 64, .shuffle = true, .drop_last = true});
  const nn::Sequential G = make_generator(planes), D = make_discriminator(planes);
  optim::Adam of_g(G.parameters(), {.lr = 2e-4, .betas = {0.5, 0.999}});
  optim::Adam of_d(D.parameters(), {.lr = 2e-4, .betas = {0.5, 0.999}});
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    Losses losses{};
    for (const auto& batch : loader)
      losses = train_step(G, D, of_g, of_d, batch["image"], randn({64, kNoise, 1, 1}));
    std::cout << "epoch " << epoch << ": discriminator " << losses.discriminator << ", generator "
              << losses.generator << std::endl;
  }
  const NoGradGuard no_grad;
  const Tensor images = G(randn({64, kNoise, 1, 1})).view(8, 8, 28, 28).permute(0, 2, 1, 3);
  data::write_png((127.5 * (images + 1).reshape(8 * 28, 8 * 28)).to(u8), "dcgan.png");
}
