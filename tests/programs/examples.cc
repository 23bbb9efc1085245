// Networks of examples/, the very sources, trained as there.
#include <aorta/tests/programs/program.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

// main alone may end without a return.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace char_gpt_example {
#include <aorta/examples/char_gpt.cc>
}
namespace vae_example {
#include <aorta/examples/vae.cc>
}
namespace dcgan_example {
#include <aorta/examples/dcgan.cc>
}
namespace lstm_example {
#include <aorta/examples/lstm_language_model.cc>
}

namespace aorta::programs {

Losses char_gpt(DType dtype) {
  char_gpt_example::CharGpt net(19, 12, 16, 2, 2);
  set_weights(net, dtype);
  const Tensor tokens = integers("char_gpt.tokens", 19, {4, 3, 13});
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-2, .betas = {0.9, 0.99}});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = tokens[i % 4];
    const Tensor logits = net(x.slice(1, 0, -1));
    const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), x.slice(1, 1).flatten());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses example_vae(DType dtype) {
  vae_example::Vae net(49, 24, 5);
  set_weights(net, dtype);
  const Tensor images = (data("vae.images", {4, 8, 49}, dtype) + 1) / 2;
  const Tensor noise = data("vae.noise", {4, 8, 5}, dtype);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = images[i % 4];
    const Tensor loss = vae_example::vae_loss(net(x, noise[i % 4]), x);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses example_dcgan(DType dtype) {
  nn::Sequential G = dcgan_example::make_generator(4), D = dcgan_example::make_discriminator(4);
  set_weights(G, dtype);
  set_weights(D, dtype);
  const Tensor images = data("dcgan.images", {4, 6, 1, 28, 28}, dtype);
  const Tensor noise = data("dcgan.noise", {4, 6, 64, 1, 1}, dtype);
  optim::Adam of_g(G.parameters(), {.lr = 2e-4, .betas = {0.5, 0.999}});
  optim::Adam of_d(D.parameters(), {.lr = 2e-4, .betas = {0.5, 0.999}});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const auto [of_images, of_made] =
        dcgan_example::train_step(G, D, of_g, of_d, images[i % 4], noise[i % 4]);
    losses.push_back(of_images + of_made);
  }
  return losses;
}

Losses word_model(DType dtype) {
  lstm_example::WordModel net(30, 16);
  set_weights(net, dtype);
  const Tensor text = integers("word_model.text", 30, {4, 5, 9});
  optim::SGD optimizer(net.parameters(), {.lr = 1});
  LstmState state;
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = text[i % 4];
    const auto [logits, next] = net(x.slice(1, 0, -1), state);
    const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), x.slice(1, 1).flatten());
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 0.25);
    optimizer.step();
    state = {next.h.detach(), next.c.detach()};
    losses.push_back(loss.item<double>());
  }
  return losses;
}

}  // namespace aorta::programs
