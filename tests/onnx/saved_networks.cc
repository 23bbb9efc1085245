#include <aorta/core/ops/random.h>
#include <aorta/core/random.h>
#include <aorta/models/convnext.h>
#include <aorta/models/efficientnet.h>
#include <aorta/models/make.h>
#include <aorta/models/maxvit.h>
#include <aorta/models/regnet.h>
#include <aorta/models/swin_transformer.h>
#include <aorta/models/vgg.h>
#include <aorta/models/vision_transformer.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>
#include <aorta/tests/onnx/saved_networks.h>

#include <algorithm>
#include <set>

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

namespace {

// What stands here for families whose networks have hundreds of megabytes: their parts, in less
// depth and width.
const std::vector<std::pair<std::string, std::function<nn::AnyModule()>>>& small_networks() {
  using namespace models;
  static const std::vector<std::pair<std::string, std::function<nn::AnyModule()>>> all{
      {"small_vgg",
       [] {
         VGG net({{1, 1, 1, 1, 1}, true}, 3);
         net.classifier = nn::Sequential(nn::Linear(512 * 49, 3));
         return nn::AnyModule(net);
       }},
      {"small_vision_transformer",
       [] {
         return nn::AnyModule(VisionTransformer({.image_size = 24,
                                                 .patch_size = 8,
                                                 .num_layers = 2,
                                                 .num_heads = 2,
                                                 .hidden_dim = 16,
                                                 .mlp_dim = 20,
                                                 .num_classes = 3}));
       }},
      {"small_convnext",
       [] {
         return nn::AnyModule(ConvNeXt({{1, 2, 1, 1}, {8, 12, 16, 20}, 0}, 3));
       }},
      {"small_efficientnet_v2",
       [] {
         static constexpr MBConvStage stages[] = {
             {1, 3, 1, 8, 8, 1, true}, {4, 3, 2, 8, 16, 1, true}, {4, 3, 2, 16, 24, 1}};
         return nn::AnyModule(EfficientNet({1, 1, 0.2, 1e-3, 0.1, stages, 40}, 3));
       }},
      {"small_swin",
       [] {
         return nn::AnyModule(SwinTransformer({8, {2, 2, 1, 1}, {2, 2, 4, 4}, 3}, 3));
       }},
      {"small_swin_v2",
       [] {
         return nn::AnyModule(
             SwinTransformer({8, {2, 2, 1, 1}, {2, 2, 4, 4}, 3, 0, SwinVersion::v2}, 3));
       }},
      {"small_maxvit",
       [] {
         return nn::AnyModule(MaxVit({8, {8, 8, 12, 16}, {1, 1, 1, 1}, 4, 2, 0, 64}, 3));
       }},
      {"small_regnet",
       [] {
         return nn::AnyModule(RegNet({4, 8, 8, 2, 8, 0.25}, 3));
       }},
  };
  return all;
}

bool is_classifier(const std::string& name) {
  static const std::set<std::string> families{
      "resnet",     "resnext",      "wide_resnet", "alexnet",  "vgg",
      "mobilenet",  "efficientnet", "vit",         "densenet", "convnext",
      "squeezenet", "shufflenet_v", "mnasnet",     "small_",   "regnet",
      "googlenet",  "inception",    "swin_",       "maxvit"};
  return std::any_of(families.begin(), families.end(),
                     [&](const std::string& family) { return name.starts_with(family); });
}

// All of torchvision's classifiers but the smallest of each kind of block.
bool is_left_to_others(const std::string& name) {
  static const std::set<std::string> kept{
      "resnet18",        "resnet34",    "resnet50",      "resnet101",          "mobilenet_v2",
      "efficientnet_b0", "densenet121", "squeezenet1_1", "mobilenet_v3_small", "shufflenet_v2_x0_5",
      "mnasnet0_5",      "googlenet",   "inception_v3"};
  return is_classifier(name) && kept.count(name) == 0;
}

}  // namespace

std::vector<std::string> model_names(bool all) {
  std::vector<std::string> names = models::names();
  std::erase_if(names, is_left_to_others);
  for (const auto& [name, make] : small_networks()) names.push_back(name);
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
  if (name == "small_vision_transformer") return {3, 24, 24};
  if (name == "small_maxvit") return {3, 64, 64};
  if (name.starts_with("small_swin")) return {3, 44, 54};
  if (name == "inception_v3") return {3, 75, 79};
  return {3, 33, 40};
}

nn::AnyModule small_or_named(const std::string& name) {
  for (const auto& [small, make_small] : small_networks())
    if (name == small) return make_small();
  return models::make(name, {.num_classes = 3});
}

}  // namespace

SavedNetwork model_network(const std::string& name) {
  manual_seed(0);
  const std::shared_ptr<nn::AnyModule> net = std::make_shared<nn::AnyModule>(small_or_named(name));
  const std::shared_ptr<nn::Module> module(net, &**net);
  // Layers that are no fresh ones. Small weights keep what residual blocks add of one size; of
  // statistics of a few random images the results would differ by rounding alone: onnxruntime's
  // with and without its optimisations do by 5e-4.
  const bool is_reset = is_classifier(name) && !name.starts_with("resnet");
  for (const auto& [tensor_name, tensor] : module->state_dict()) {
    const auto is = [&, &full = tensor_name](const char* end) { return full.ends_with(end); };
    if (is("running_mean")) uniform_(tensor, -0.2, 0.2);
    if (is("running_var")) uniform_(tensor, 0.7, 1.3);
    // Squeeze and excitation halves the maps already.
    const bool is_in_block =
        tensor_name.find("layer") != std::string::npos || (is_reset && name != "efficientnet_b0");
    if (is_in_block && is(".weight") && tensor.dim() == 1)
      uniform_(tensor.detach(), is_reset ? 0.6 : 0.3, is_reset ? 0.9 : 0.7);
    // Heads of zeros, and depthwise convolutions, whose first weights leave little of the input.
    if (is_reset && tensor.dim() > 1 && tensor.dtype() == DType::f32)
      nn::init::kaiming_normal_(tensor);
  }
  return image_network(module, input_shape(name));
}

}  // namespace aorta::onnx
