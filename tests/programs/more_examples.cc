// Further networks of examples/, the very sources, trained as there.
#include <aorta/onnx/onnx.h>
#include <aorta/report/plot.h>
#include <aorta/tests/programs/program.h>
#include <aorta/tests/test_folder.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <numbers>

// main alone may end without a return.
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace ctc_digits_example {
#include <aorta/examples/ctc_digits.cc>
}
namespace fine_tune_example {
#include <aorta/examples/fine_tune.cc>
}
namespace graph_attention_example {
#include <aorta/examples/graph_attention.cc>
}
namespace graph_convolution_example {
#include <aorta/examples/graph_convolution.cc>
}
namespace mnist_example {
#include <aorta/examples/mnist.cc>
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
namespace vision_transformer_example {
#include <aorta/examples/vision_transformer.cc>
}

namespace aorta::programs {

Losses style_transfer(DType dtype) {
  using namespace style_transfer_example;
  nn::Sequential features = make_features(4), painter = make_painter(4);
  set_weights(features, dtype);
  set_weights(painter, dtype);
  const Tensor images = (data("style_transfer.images", {4, 2, 3, 16, 16}, dtype) + 1) / 2;
  const Tensor style = (data("style_transfer.style", {1, 3, 16, 16}, dtype) + 1) / 2;
  const auto wanted = look(features, style);
  optim::Adam optimizer(painter.parameters(), {.lr = 3e-3});
  return descend(optimizer, [&](int i) {
    const auto before = look(features, images[i]), after = look(features, painter(images[i]));
    return nn::mse_loss(after[1], before[1]) + 1000 * style_loss(after, wanted);
  });
}

Losses super_resolution(DType dtype) {
  super_resolution_example::SuperResolution net(3);
  set_weights(net, dtype);
  const Tensor images = (data("super_resolution.images", {4, 3, 1, 18, 18}, dtype) + 1) / 2;
  optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  return descend(optimizer,
                 [&](int i) { return nn::mse_loss(net(avg_pool2d(images[i], 3)), images[i]); });
}

Losses vision_transformer(DType dtype) {
  vision_transformer_example::VisionTransformer net(14, 7, 16, 2, 2, 10);
  set_weights(net, dtype);
  const Tensor images = data("vision_transformer.images", {4, 6, 1, 14, 14}, dtype);
  const Tensor labels = integers("vision_transformer.labels", 10, {4, 6});
  optim::AdamW optimizer(net.parameters(), {.weight_decay = 0.05});
  optim::OneCycleLR schedule(optimizer, {.max_lr = {2e-3}, .total_steps = kSteps});
  return descend(
      optimizer,
      [&](int i) { return nn::cross_entropy(net(images[i]), labels[i], {.label_smoothing = 0.1}); },
      &schedule);
}

Losses graph_attention(DType dtype) {
  graph_attention_example::Net net;
  set_weights(net, dtype);
  const Tensor half = data("graph_attention.edges", {20, 20}, DType::f64) < -0.6;
  const Tensor edges = half | half.t() | eye(20, {.dtype = boolean});
  const Tensor x = data("graph_attention.nodes", {20, 16}, dtype);
  const Tensor group = integers("graph_attention.groups", 4, {20}).narrow(0, 0, 10);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2, .weight_decay = 5e-3});
  return descend(optimizer,
                 [&](int) { return nn::cross_entropy(net(x, edges).narrow(0, 0, 10), group); });
}

Losses ctc_digits(DType dtype) {
  ctc_digits_example::Reader net;
  set_weights(net, dtype);
  const Tensor images = data("ctc_digits.images", {4, 3, 1, 28, 56}, dtype);
  const Tensor digits = integers("ctc_digits.digits", 10, {4, 3, 3});
  const Tensor steps = tensor({10, 14, 7}, {.dtype = i64});
  const Tensor lengths = tensor({2, 3, 1}, {.dtype = i64});
  optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  return descend(optimizer, [&](int i) {
    return nn::ctc_loss(net(images[i], steps), digits[i], steps, lengths,
                        {ctc_digits_example::kBlank});
  });
}

Losses time_series(DType dtype) {
  time_series_example::Waves net(16);
  set_weights(net, dtype);
  const Tensor start = 10 * data("time_series.start", {4, 1}, DType::f64);
  const Tensor x = sin(0.3 * (start + arange(31, {.dtype = DType::f64}))).to(dtype);
  optim::LBFGS optimizer(net.parameters(), {.lr = 0.8});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor loss = optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor error = nn::mse_loss(net(x.slice(1, 0, -1), 0), x.slice(1, 1));
      error.backward();
      return error;
    });
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses siamese(DType dtype) {
  siamese_example::Siamese net;
  set_weights(net, dtype);
  {
    const NoGradGuard no_grad;
    mul_(net.fc.weight, 0.3);  // distances on both sides of the margin
  }
  const Tensor images = data("siamese.images", {4, 2, 5, 1, 28, 28}, dtype);
  const Tensor equal = data("siamese.equal", {4, 5}, DType::f64) > 0;
  optim::Adam optimizer(net.parameters(), {.lr = 1e-3});
  return descend(optimizer, [&](int i) {
    return siamese_example::contrastive_loss(net(images[i][0], images[i][1]), equal[i]);
  });
}

Losses graph_convolution(DType dtype) {
  using namespace graph_convolution_example;
  Net net;
  net.drop.options.p = 0;
  set_weights(net, dtype);
  const SparseTensor edges =
      normalized(integers("graph_convolution.ends", 20, {2, 40}), 20).to({.dtype = dtype});
  const Tensor x = data("graph_convolution.nodes", {20, kFeatures}, dtype);
  const Tensor group = integers("graph_convolution.groups", kGroups, {20});
  const Tensor known = arange(20) < 10;
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2, .weight_decay = 5e-4});
  return descend(optimizer,
                 [&](int) { return nn::cross_entropy(net(edges, x)[known], group[known]); });
}

Losses lenet5(DType dtype) {
  models::LeNet5 net;
  set_weights(net, dtype);
  const Tensor images = data("lenet5.images", {4, 4, 1, 28, 28}, dtype);
  const Tensor labels = integers("lenet5.labels", 10, {4, 4});
  optim::Adam optimizer(net.parameters());
  optim::OneCycleLR schedule(optimizer, {.max_lr = {4e-3}, .total_steps = kSteps});
  return descend(
      optimizer, [&](int i) { return nn::cross_entropy(net(images[i]), labels[i]); }, &schedule);
}

Losses nielsen(DType dtype) {
  nn::Sequential net = mnist_example::make_nielsen();
  set_weights(net, dtype);
  const Tensor images = (data("nielsen.images", {4, 10, 1, 28, 28}, dtype) + 1) / 2;
  const Tensor labels = integers("nielsen.labels", 10, {4, 10});
  optim::SGD optimizer(net.parameters(), {.lr = 3});
  return descend(optimizer,
                 [&](int i) { return mnist_example::quadratic_cost(net(images[i]), labels[i]); });
}

Losses fine_tune(DType dtype) {
  const TestFolder folder;
  const std::string file = folder.file("resnet18.safetensors");
  const nn::AnyModule first = models::make("resnet18", {.num_classes = 7});
  set_weights(*first, dtype);
  save(first->state_dict(), file);
  const nn::AnyModule net = fine_tune_example::with_new_head(file);
  set_weights(*net, dtype);
  const Tensor images = data("fine_tune.images", {4, 2, 3, 32, 32}, dtype);
  const Tensor labels = integers("fine_tune.labels", 5, {4, 2});
  optim::Adam optimizer(net->get_submodule("fc").parameters(), {.lr = 1e-2});
  return descend(optimizer, [&](int i) { return nn::cross_entropy(net(images[i]), labels[i]); });
}

}  // namespace aorta::programs
