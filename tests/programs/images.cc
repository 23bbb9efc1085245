// Networks of images: ResNet-18, a vision transformer, an autoencoder, a VAE, a DCGAN.
#include <aorta/tests/programs/program.h>

namespace aorta::programs {
namespace {

Losses train_classifier(nn::Module& net, const Tensor& images, const Tensor& targets,
                        optim::Optimizer& optimizer, const CrossEntropyOptions& options = {}) {
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    optimizer.zero_grad();
    const Tensor loss = nn::cross_entropy(net(images[i % 4]), targets[i % 4], options);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

struct ViT : nn::Module {
  explicit ViT(int64_t width)
      : patch(*this, "patch", 3, width, 4, {.stride = 4}),
        cls(*this, "cls", zeros({1, 1, width})),
        pos(*this, "pos", zeros({1, 17, width})),
        norm(*this, "norm", width),
        head(*this, "head", width, 10) {
    for (int i = 0; i < 2; ++i) {
      layers.push_back(nn::TransformerEncoderLayer(width, 3,
                                                   {.dim_feedforward = 4 * width,
                                                    .dropout = 0,
                                                    .activation = nn::TransformerActivation::gelu,
                                                    .batch_first = true,
                                                    .norm_first = true}));
    }
  }

  Tensor forward(const Tensor& images) const override {
    Tensor x = patch(images).flatten(2).transpose(1, 2);
    x = cat({cls.expand({x.size(0), -1, -1}), x}, 1) + pos;
    for (const auto& layer : layers) x = layer(x);
    return head(norm(x.select(1, 0)));
  }

  nn::Conv2d patch;
  nn::Parameter cls, pos;
  nn::ModuleList layers{*this, "layers"};
  nn::LayerNorm norm;
  nn::Linear head;
};

struct Vae : nn::ModuleOf<Vae> {
  struct Output {
    Tensor image, mean, log_variance;
  };
  Output forward(const Tensor& x, const Tensor& noise) const {
    const Tensor h = relu(fc1(x)), mean = fc21(h), log_variance = fc22(h);
    const Tensor z = mean + noise * exp(0.5 * log_variance);
    return {sigmoid(fc4(relu(fc3(z)))), mean, log_variance};
  }

  nn::Linear fc1{*this, "fc1", 36, 24}, fc21{*this, "fc21", 24, 5}, fc22{*this, "fc22", 24, 5};
  nn::Linear fc3{*this, "fc3", 5, 24}, fc4{*this, "fc4", 24, 36};
};

}  // namespace

Losses resnet(DType dtype) {
  const nn::AnyModule net = models::make("resnet18", {.num_classes = 10});
  set_weights(*net, dtype);
  optim::SGD optimizer(net->parameters(), {.lr = 1e-2, .momentum = 0.9, .weight_decay = 1e-4});
  return train_classifier(*net, data("resnet.images", {4, 16, 3, 32, 32}, dtype),
                          integers("resnet.targets", 10, {4, 16}), optimizer);
}

Losses vit(DType dtype) {
  ViT net(24);
  set_weights(net, dtype);
  optim::AdamW optimizer(net.parameters(), {.lr = 3e-3, .weight_decay = 0.05});
  return train_classifier(net, data("vit.images", {4, 4, 3, 16, 16}, dtype),
                          integers("vit.targets", 10, {4, 4}), optimizer, {.label_smoothing = 0.1});
}

Losses autoencoder(DType dtype) {
  using namespace nn;
  Sequential net{Conv2d(1, 4, 3, {.stride = 2, .padding = 1}),
                 ReLU(),
                 Conv2d(4, 8, 3, {.stride = 2, .padding = 1}),
                 ReLU(),
                 Conv2d(8, 16, 7),
                 ConvTranspose2d(16, 8, 7),
                 ReLU(),
                 ConvTranspose2d(8, 4, 3, {.stride = 2, .padding = 1, .output_padding = 1}),
                 ReLU(),
                 ConvTranspose2d(4, 1, 3, {.stride = 2, .padding = 1, .output_padding = 1}),
                 Sigmoid()};
  set_weights(net, dtype);
  const Tensor images = (data("autoencoder.images", {4, 4, 1, 28, 28}, dtype) + 1) / 2;
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = images[i % 4];
    optimizer.zero_grad();
    const Tensor loss = mse_loss(net(x), x);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses vae(DType dtype) {
  Vae net;
  set_weights(net, dtype);
  const Tensor images = (data("vae.images", {4, 8, 36}, dtype) + 1) / 2;
  const Tensor noise = data("vae.noise", {4, 8, 5}, dtype);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = images[i % 4];
    optimizer.zero_grad();
    const auto [image, mean, log_variance] = net(x, noise[i % 4]);
    const Tensor error = nn::binary_cross_entropy(image, x, {.reduction = Reduction::sum});
    const Tensor loss = error - 0.5 * sum(1 + log_variance - square(mean) - exp(log_variance));
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>() / 8);
  }
  return losses;
}

Losses dcgan(DType dtype) {
  using namespace nn;
  constexpr int64_t kPlanes = 4;
  const auto up = [](int64_t in, int64_t out, int64_t stride, int64_t padding) {
    return ConvTranspose2d(in, out, 4, {.stride = stride, .padding = padding, .bias = false});
  };
  const auto down = [](int64_t in, int64_t out, int64_t stride, int64_t padding) {
    return Conv2d(in, out, 4, {.stride = stride, .padding = padding, .bias = false});
  };
  Sequential generator{up(8, 4 * kPlanes, 1, 0),
                       BatchNorm2d(4 * kPlanes),
                       ReLU(true),
                       up(4 * kPlanes, 2 * kPlanes, 2, 1),
                       BatchNorm2d(2 * kPlanes),
                       ReLU(true),
                       up(2 * kPlanes, kPlanes, 2, 1),
                       BatchNorm2d(kPlanes),
                       ReLU(true),
                       up(kPlanes, 3, 2, 1),
                       Tanh()};
  Sequential discriminator{
      down(3, kPlanes, 2, 1),   LeakyReLU(0.2, true), down(kPlanes, 2 * kPlanes, 2, 1),
      BatchNorm2d(2 * kPlanes), LeakyReLU(0.2, true), down(2 * kPlanes, 4 * kPlanes, 2, 1),
      BatchNorm2d(4 * kPlanes), LeakyReLU(0.2, true), down(4 * kPlanes, 1, 1, 0)};
  set_weights(generator, dtype);
  set_weights(discriminator, dtype);
  const Tensor images = data("dcgan.images", {4, 6, 3, 32, 32}, dtype);
  const Tensor noise = data("dcgan.noise", {4, 6, 8, 1, 1}, dtype);
  const optim::AdamOptions options{.lr = 2e-4, .betas = {0.5, 0.999}};
  optim::Adam of_discriminator(discriminator.parameters(), options);
  optim::Adam of_generator(generator.parameters(), options);
  const Tensor real = ones({6}, {.dtype = dtype}), fake = zeros({6}, {.dtype = dtype});
  const auto loss_of = [](const Tensor& y, const Tensor& target) {
    return binary_cross_entropy_with_logits(y.view({-1}), target);
  };
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    discriminator.zero_grad();
    const Tensor of_real = loss_of(discriminator(images[i % 4]), real);
    of_real.backward();
    const Tensor made = generator(noise[i % 4]);
    const Tensor of_fake = loss_of(discriminator(made.detach()), fake);
    of_fake.backward();
    of_discriminator.step();
    generator.zero_grad();
    const Tensor of_made = loss_of(discriminator(made), real);
    of_made.backward();
    of_generator.step();
    losses.push_back((of_real + of_fake + of_made).item<double>());
  }
  return losses;
}

}  // namespace aorta::programs
