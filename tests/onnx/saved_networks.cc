#include <aorta/core/ops/random.h>
#include <aorta/core/random.h>
#include <aorta/models/make.h>
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

SavedNetwork model_network(const std::string& name) {
  manual_seed(0);
  const std::shared_ptr<nn::AnyModule> net =
      std::make_shared<nn::AnyModule>(models::make(name, {.num_classes = 3}));
  const std::shared_ptr<nn::Module> module(net, &**net);
  // Statistics that are no fresh layer's.
  for (const auto& [buffer, tensor] : module->named_buffers()) {
    if (buffer.find("running_mean") != std::string::npos) uniform_(tensor, -0.2, 0.2);
    if (buffer.find("running_var") != std::string::npos) uniform_(tensor, 0.7, 1.3);
  }
  if (name == "mlp") return image_network(module, {784});
  if (name == "lenet5") return image_network(module, {1, 28, 28});
  if (name.find("unet") == 0) return image_network(module, {3, 32, 48});
  if (name.find("3d_18") != std::string::npos || name == "mc3_18" || name == "r2plus1d_18")
    return image_network(module, {3, 4, 16, 16});
  return image_network(module, {3, 33, 40});
}

}  // namespace aorta::onnx
