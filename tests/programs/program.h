#pragma once

#include <aorta/aorta.h>
#include <aorta/tests/models/formula.h>

// Training programs as a user writes them, and what they share: weights and data by formula. The
// twin of tests/fixtures/make_programs.py and make_examples.py.

namespace aorta::programs {

inline constexpr int kSteps = 25;
/// The loss of each step.
using Losses = std::vector<double>;

/// Numbers in [-1, 1).
inline Tensor data(const std::string& name, const Shape& shape, DType dtype) {
  return models::formula(name, shape).to(dtype);
}

/// Integers in [0, below).
inline Tensor integers(const std::string& name, int64_t below, const Shape& shape) {
  return ((models::formula(name, shape) + 1) / 2 * below).to(DType::i64);
}

inline void set_weights(nn::Module& net, DType dtype) {
  net.to(dtype);
  NamedTensors state = net.state_dict();
  for (auto& [name, tensor] : state) tensor = models::state_value(name, tensor);
  net.load_state_dict(state);
}

/// The losses of steps along the gradient of `loss_of(i)`, i the batch.
template <class LossOf>
Losses descend(optim::Optimizer& optimizer, const LossOf& loss_of,
               optim::LRScheduler* schedule = nullptr) {
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor loss = loss_of(i % 4);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (schedule) schedule->step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses gpt(DType dtype);
Losses lstm(DType dtype);
Losses gru(DType dtype);
Losses text_cnn(DType dtype);
Losses vae(DType dtype);
Losses dcgan(DType dtype);
Losses resnet(DType dtype);
Losses vit(DType dtype);
Losses autoencoder(DType dtype);
Losses reinforce(DType dtype);
Losses lbfgs(DType dtype);
// The programs of examples/.
Losses char_gpt(DType dtype);
Losses example_vae(DType dtype);
Losses example_dcgan(DType dtype);
Losses word_model(DType dtype);
Losses style_transfer(DType dtype);
Losses super_resolution(DType dtype);
Losses vision_transformer(DType dtype);
Losses graph_attention(DType dtype);
Losses ctc_digits(DType dtype);
Losses time_series(DType dtype);
Losses siamese(DType dtype);
Losses graph_convolution(DType dtype);
Losses actor_critic(DType dtype);
Losses cart_pole(DType dtype);
Losses custom_layer(DType dtype);
Losses lenet5(DType dtype);
Losses nielsen(DType dtype);
Losses fine_tune(DType dtype);

}  // namespace aorta::programs
