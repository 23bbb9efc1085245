#include <aorta/core/ops/random.h>
#include <aorta/core/random.h>
#include <aorta/models/make.h>
#include <aorta/nn/normalization.h>
#include <aorta/tests/onnx/saved_networks.h>

#include <algorithm>

namespace aorta::onnx {

SavedNetwork image_network(std::shared_ptr<nn::Module> net, const Shape& sample) {
  Shape shape = sample;
  shape.insert(0, 2);
  const Tensor example = randn(shape);
  shape[0] = 3;
  return {net,
          [net](const std::vector<Tensor>& x) { return std::vector{(*net)(x[0])}; },
          {example},
          {randn(shape)}};
}

std::vector<std::string> model_names(bool all) {
  std::vector<std::string> names = models::names();
  if (all) return names;
  const auto is_large = [](const std::string& name) {
    return name == "resnet34" || name == "unet" || name.find("101") != std::string::npos;
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_large), names.end());
  return names;
}

namespace {

Shape input_shape(const std::string& name) {
  if (name == "mlp") return {784};
  if (name == "lenet5") return {1, 28, 28};
  if (name.find("unet") == 0) return {3, 32, 48};
  if (name == "r3d_18" || name == "mc3_18" || name == "r2plus1d_18") return {3, 4, 16, 16};
  return {3, 33, 40};
}

}  // namespace

SavedNetwork model_network(const std::string& name) {
  manual_seed(0);
  const std::shared_ptr<nn::AnyModule> net =
      std::make_shared<nn::AnyModule>(models::make(name, {.num_classes = 3}));
  const std::shared_ptr<nn::Module> module(net, &**net);
  SavedNetwork network = image_network(module, input_shape(name));
  // Running statistics of their inputs, as trained networks have: maps of a fresh layer's grow.
  nn::update_bn(*module, [&] {
    network.run(network.examples);
    network.run(network.others);
  });
  return network;
}

}  // namespace aorta::onnx
