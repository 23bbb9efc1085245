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

namespace {

Shape input_shape(const std::string& name) {
  if (name == "mlp") return {784};
  if (name == "lenet5") return {1, 28, 28};
  if (name == "unet_3d") return {3, 6, 16, 20};
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
  // Layers that are no fresh ones. Small weights keep what residual blocks add of one size; of
  // statistics of a few random images the results would differ by rounding alone: onnxruntime's
  // with and without its optimisations do by 5e-4.
  for (const auto& [tensor_name, tensor] : module->state_dict()) {
    const auto is = [&, &full = tensor_name](const char* end) { return full.ends_with(end); };
    if (is("running_mean")) uniform_(tensor, -0.2, 0.2);
    if (is("running_var")) uniform_(tensor, 0.7, 1.3);
    const bool is_in_block = tensor_name.find("layer") != std::string::npos;
    if (is_in_block && is(".weight") && tensor.dim() == 1) uniform_(tensor.detach(), 0.3, 0.7);
  }
  return image_network(module, input_shape(name));
}

}  // namespace aorta::onnx
