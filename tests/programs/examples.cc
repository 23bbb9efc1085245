// Networks of examples/, the very sources, trained as there.
#include <aorta/tests/programs/program.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

// main alone may end without a return.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace actor_critic_example {
#include <aorta/examples/actor_critic.cc>
}
namespace cart_pole_example {
#include <aorta/examples/cart_pole.cc>
}
namespace char_gpt_example {
#include <aorta/examples/char_gpt.cc>
}
namespace custom_layer_example {
#include <aorta/examples/custom_layer.cc>
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
namespace {

// Four episodes of twelve steps: what was seen (4), what was done and what it led to.
struct Recorded {
  Tensor states, actions, returns;  // (4, 12, 4), (4, 12), (4, 12)
};
Recorded recorded(const std::string& name, DType dtype) {
  return {data(name + ".states", {4, 12, 4}, dtype), integers(name + ".actions", 2, {4, 12}),
          10 * (data(name + ".returns", {4, 12}, dtype) + 1)};
}

}  // namespace

Losses char_gpt(DType dtype) {
  char_gpt_example::CharGpt net(19, 12, 16, 2, 2);
  set_weights(net, dtype);
  const Tensor tokens = integers("char_gpt.tokens", 19, {4, 3, 13});
  optim::AdamW optimizer(net.parameters(), {.lr = 3e-3, .betas = {0.9, 0.99}});
  return descend(optimizer, [&](int i) {
    const Tensor logits = net(tokens[i].slice(1, 0, -1));
    return nn::cross_entropy(logits.flatten(0, 1), tokens[i].slice(1, 1).flatten());
  });
}

Losses example_vae(DType dtype) {
  vae_example::Vae net(49, 24, 5);
  set_weights(net, dtype);
  const Tensor images = (data("vae.images", {4, 8, 49}, dtype) + 1) / 2;
  const Tensor noise = data("vae.noise", {4, 8, 5}, dtype);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  return descend(optimizer,
                 [&](int i) { return vae_example::vae_loss(net(images[i], noise[i]), images[i]); });
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
  {
    const NoGradGuard no_grad;
    mul_(net.decoder.weight, 8);  // gradients on both sides of where they are clipped
  }
  const Tensor text = integers("word_model.text", 30, {4, 5, 9});
  optim::Adam optimizer(net.parameters(), {.lr = 5e-3});
  LstmState state;
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor x = text[i % 4];
    const auto [logits, next] = net(x.slice(1, 0, -1), state);
    const Tensor loss = nn::cross_entropy(logits.flatten(0, 1), x.slice(1, 1).flatten());
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 1);
    optimizer.step();
    state = {next.h.detach(), next.c.detach()};
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses actor_critic(DType dtype) {
  actor_critic_example::ActorCritic net;
  set_weights(net, dtype);
  const auto [states, actions, returns] = recorded("actor_critic", dtype);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2});
  return descend(optimizer, [&](int i) {
    std::vector<Tensor> chosen, values;
    for (int t = 0; t < 12; ++t) {
      const auto [log_p, value] = net(states[i][t]);
      chosen.push_back(log_p[actions[i][t]]);
      values.push_back(value[0]);
    }
    return actor_critic_example::loss_of(stack(chosen), stack(values), returns[i]);
  });
}

Losses cart_pole(DType dtype) {
  nn::Sequential policy = cart_pole_example::make_policy();
  set_weights(policy, dtype);
  const auto [states, actions, returns] = recorded("cart_pole", dtype);
  optim::Adam optimizer(policy.parameters(), {.lr = 3e-3});
  return descend(optimizer, [&](int i) {
    std::vector<Tensor> chosen;
    for (int t = 0; t < 12; ++t) {
      const Tensor log_p = policy(states[i][t]).log_softmax(-1);
      chosen.push_back(log_p[actions[i][t]]);
    }
    return cart_pole_example::loss_of(stack(chosen), returns[i]);
  });
}

Losses custom_layer(DType dtype) {
  nn::Sequential net{nn::Linear(1, 32), custom_layer_example::Snake(32), nn::Linear(32, 1)};
  set_weights(net, dtype);
  {
    const NoGradGuard no_grad;
    add_(dynamic_cast<custom_layer_example::Snake&>(net[1]).a, 1);  // the formula's are near 0
  }
  const Tensor x = linspace(-5, 5, 40, {.dtype = dtype}).view({40, 1});
  optim::Adam optimizer(net.parameters(), {.lr = 5e-3});
  return descend(optimizer, [&](int) { return nn::mse_loss(net(x), sin(2 * x)); });
}

}  // namespace aorta::programs
