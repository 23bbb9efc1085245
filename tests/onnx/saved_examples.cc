// Networks of examples/, the very sources.
#include <aorta/aorta.h>
#include <aorta/report/plot.h>
#include <aorta/tests/onnx/saved_networks.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <numbers>
#include <sstream>

// main alone may end without a return.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace actor_critic_example {
#include <aorta/examples/actor_critic.cc>
}
namespace char_gpt_example {
#include <aorta/examples/char_gpt.cc>
}
namespace ctc_digits_example {
#include <aorta/examples/ctc_digits.cc>
}
namespace custom_layer_example {
#include <aorta/examples/custom_layer.cc>
}
namespace dcgan_example {
#include <aorta/examples/dcgan.cc>
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsuggest-override"
namespace digits_example {
#include <aorta/examples/digits.cc>
}
#pragma GCC diagnostic pop
namespace first_net_example {
#include <aorta/examples/first_net.cc>
}
namespace graph_attention_example {
#include <aorta/examples/graph_attention.cc>
}
namespace graph_convolution_example {
#include <aorta/examples/graph_convolution.cc>
}
namespace hogwild_example {
#include <aorta/examples/hogwild.cc>
}
namespace lstm_example {
#include <aorta/examples/lstm_language_model.cc>
}
namespace siamese_example {
#include <aorta/examples/siamese.cc>
}
namespace style_transfer_example {
#include <aorta/examples/style_transfer.cc>
}
namespace super_resolution_example {
#include <aorta/examples/super_resolution.cc>
}
namespace time_series_example {
#include <aorta/examples/time_series.cc>
}
namespace vae_example {
#include <aorta/examples/vae.cc>
}
namespace vision_transformer_example {
#include <aorta/examples/vision_transformer.cc>
}

namespace aorta::onnx {
namespace {

using Tensors = std::vector<Tensor>;

SavedNetwork actor_critic() {
  const auto net = make_net<actor_critic_example::ActorCritic>();
  return {net,
          [net](const Tensors& x) {
            const auto [chances, value] = (*net)(x[0]);
            return std::vector{chances, value};
          },
          {randn({2, 4})},
          {randn({3, 4})},
          {.input_names = {"state"}, .output_names = {"chances", "value"}}};
}

SavedNetwork cart_pole() {
  return image_network(make_net<nn::Sequential>(nn::Linear(4, 128), nn::ReLU(), nn::Linear(128, 2)),
                       {4});
}

SavedNetwork char_gpt() {
  const auto net = make_net<char_gpt_example::CharGpt>(19, 12, 16, 2, 2);
  return {net,
          [net](const Tensors& x) { return std::vector{(*net)(x[0])}; },
          {randint(19, {2, 12})},
          {randint(19, {3, 12})}};
}

// The network reads lines of one length, which is part of the network.
SavedNetwork ctc_digits() {
  const auto net = make_net<ctc_digits_example::Reader>();
  const Tensor steps = full({2}, 6, {.dtype = i64});
  return {net,
          [net, steps](const Tensors& x) { return std::vector{(*net)(x[0], steps)}; },
          {randn({2, 1, 28, 24})},
          {randn({2, 1, 28, 24})},
          {.dynamic_batch = false}};
}

SavedNetwork custom_layer() {
  return image_network(make_net<nn::Sequential>(nn::Linear(1, 32), custom_layer_example::Snake(32),
                                                nn::Linear(32, 1)),
                       {1});
}

SavedNetwork dcgan_generator() {
  manual_seed(0);
  return image_network(std::make_shared<nn::Sequential>(dcgan_example::make_generator(4)),
                       {dcgan_example::kNoise, 1, 1});
}
SavedNetwork dcgan_discriminator() {
  manual_seed(0);
  return image_network(std::make_shared<nn::Sequential>(dcgan_example::make_discriminator(4)),
                       {1, 28, 28});
}

SavedNetwork digits() { return image_network(make_net<digits_example::Net>(), {784}); }

SavedNetwork first_net() { return image_network(make_net<first_net_example::Net>(), {256}); }

// The nodes of a graph are its only batch, and of edges there are as many squared.
SavedNetwork graph_attention() {
  const auto net = make_net<graph_attention_example::Net>();
  const Tensor edges = (rand({7, 7}) < 0.4) | eye(7, {.dtype = boolean});
  return {net,
          [net](const Tensors& x) { return std::vector{(*net)(x[0], x[1])}; },
          {randn({7, graph_attention_example::kFeatures}), edges},
          {randn({7, graph_attention_example::kFeatures}), edges.t().contiguous()},
          {.dynamic_batch = false, .input_names = {"nodes", "edges"}}};
}

// The graph is a part of the file.
SavedNetwork graph_convolution() {
  const auto net = make_net<graph_convolution_example::Net>();
  const SparseTensor edges = graph_convolution_example::normalized(randint(9, {2, 20}), 9);
  const auto nodes = [] { return Tensors{randn({9, graph_convolution_example::kFeatures})}; };
  return {net,
          [net, edges](const Tensors& x) { return std::vector{(*net)(edges, x[0])}; },
          nodes(),
          nodes(),
          {.dynamic_batch = false, .input_names = {"nodes"}}};
}

SavedNetwork hogwild() { return image_network(make_net<hogwild_example::Net>(), {1, 28, 28}); }

SavedNetwork lstm_language_model() {
  const auto net = make_net<lstm_example::WordModel>(23, 8);
  const auto inputs = [](int64_t batch) {
    return Tensors{randint(23, {batch, 5}), randn({2, batch, 8}), randn({2, batch, 8})};
  };
  return {net,
          [net](const Tensors& x) {
            const auto [output, state] = (*net)(x[0], LstmState{x[1], x[2]});
            return std::vector{output, state.h, state.c};
          },
          inputs(2),
          inputs(3),
          {.batch_dims = {0, 1, 1},
           .input_names = {"text", "h", "c"},
           .output_names = {"logits", "next_h", "next_c"}}};
}

SavedNetwork mnist() {
  return image_network(make_net<nn::Sequential>(nn::Flatten(), nn::Linear(784, 30), nn::Sigmoid(),
                                                nn::Linear(30, 10), nn::Sigmoid()),
                       {1, 28, 28});
}

SavedNetwork mnist_wide() {
  return image_network(make_net<nn::Sequential>(nn::Linear(784, 30), nn::Sigmoid(),
                                                nn::Linear(30, 10), nn::Sigmoid()),
                       {784});
}

SavedNetwork optimizer_race() {
  return image_network(
      make_net<nn::Sequential>(nn::Linear(784, 300), nn::Sigmoid(), nn::Linear(300, 100),
                               nn::ReLU(), nn::Linear(100, 50), nn::Sigmoid(), nn::Linear(50, 10)),
      {784});
}
SavedNetwork optimizer_race_sparse() {
  return image_network(make_net<nn::Linear>(1020, 1, nn::LinearOptions{.bias = false}), {1020});
}

SavedNetwork resume() {
  return image_network(make_net<nn::Sequential>(nn::Linear(2, 64), nn::Tanh(), nn::Dropout(0.1),
                                                nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 2)),
                       {2});
}

SavedNetwork siamese() {
  const auto net = make_net<siamese_example::Siamese>();
  return {net,
          [net](const Tensors& x) { return std::vector{(*net)(x[0], x[1])}; },
          {randn({2, 1, 28, 28}), randn({2, 1, 28, 28})},
          {randn({3, 1, 28, 28}), randn({3, 1, 28, 28})}};
}

SavedNetwork style_transfer() {
  manual_seed(0);
  return image_network(std::make_shared<nn::Sequential>(style_transfer_example::make_painter(4)),
                       {3, 16, 16});
}

SavedNetwork super_resolution() {
  return image_network(make_net<super_resolution_example::SuperResolution>(3), {1, 12, 12});
}

SavedNetwork time_series() {
  const auto net = make_net<time_series_example::Waves>(8);
  net->to(f64);
  return {net,
          [net](const Tensors& x) { return std::vector{(*net)(x[0], 3)}; },
          {randn({2, 5}, {.dtype = f64})},
          {randn({3, 5}, {.dtype = f64})}};
}

SavedNetwork vae() {
  const auto net = make_net<vae_example::Vae>(784, 40, 8);
  return {net,
          [net](const Tensors& x) {
            const auto [image, mean, log_variance] = (*net)(x[0], x[1]);
            return std::vector{image, mean, log_variance};
          },
          {rand({2, 784}), randn({2, 8})},
          {rand({3, 784}), randn({3, 8})}};
}

SavedNetwork vision_transformer() {
  return image_network(make_net<vision_transformer_example::VisionTransformer>(28, 7, 16, 2, 2, 10),
                       {1, 28, 28});
}

}  // namespace

const std::vector<NamedNetwork>& example_networks() {
  static const std::vector<NamedNetwork> networks{{"actor_critic", actor_critic},
                                                  {"cart_pole", cart_pole},
                                                  {"char_gpt", char_gpt},
                                                  {"ctc_digits", ctc_digits},
                                                  {"custom_layer", custom_layer},
                                                  {"dcgan_generator", dcgan_generator},
                                                  {"dcgan_discriminator", dcgan_discriminator},
                                                  {"digits", digits},
                                                  {"first_net", first_net},
                                                  {"graph_attention", graph_attention},
                                                  {"graph_convolution", graph_convolution},
                                                  {"hogwild", hogwild},
                                                  {"lstm_language_model", lstm_language_model},
                                                  {"mnist", mnist},
                                                  {"mnist_wide", mnist_wide},
                                                  {"optimizer_race", optimizer_race},
                                                  {"optimizer_race_sparse", optimizer_race_sparse},
                                                  {"resume", resume},
                                                  {"siamese", siamese},
                                                  {"style_transfer", style_transfer},
                                                  {"super_resolution", super_resolution},
                                                  {"time_series", time_series},
                                                  {"vae", vae},
                                                  {"vision_transformer", vision_transformer}};
  return networks;
}

}  // namespace aorta::onnx
