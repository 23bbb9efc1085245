#include <aorta/core/io/load_save.h>
#include <aorta/models/lenet.h>
#include <aorta/models/make.h>
#include <aorta/models/mlp.h>
#include <aorta/models/segmentation.h>
#include <aorta/models/unet.h>
#include <aorta/models/unet_3d.h>
#include <aorta/models/video_resnet.h>

#include <algorithm>

namespace aorta::models {
namespace {

using Make = nn::AnyModule (*)(const ModelOptions& options);

template <const ResNetLayout& layout>
nn::AnyModule resnet(const ModelOptions& options) {
  return ResNet(layout, options.num_classes.value_or(1000));
}

template <const VideoResNetLayout& layout>
nn::AnyModule video_resnet(const ModelOptions& options) {
  return VideoResNet(layout, options.num_classes.value_or(400));
}

template <class Network, const ResNetLayout& layout>
nn::AnyModule segmentation(const ModelOptions& options) {
  return Network(layout,
                 {.num_classes = options.num_classes.value_or(21), .aux_loss = options.aux_loss});
}

struct Entry {
  const char* name;
  Make make;
  bool has_aux = false;
};

constexpr Entry kEntries[] = {
    {"mlp",
     [](const ModelOptions& o) {
       return nn::AnyModule(MLP({784, 128, o.num_classes.value_or(10)}));
     }},
    {"lenet5",
     [](const ModelOptions& o) { return nn::AnyModule(LeNet5(o.num_classes.value_or(10))); }},
    {"resnet18", resnet<kResNet18>},
    {"resnet34", resnet<kResNet34>},
    {"resnet50", resnet<kResNet50>},
    {"resnet101", resnet<kResNet101>},
    {"fcn_resnet50", segmentation<FCN, kResNet50>, true},
    {"fcn_resnet101", segmentation<FCN, kResNet101>, true},
    {"deeplabv3_resnet50", segmentation<DeepLabV3, kResNet50>, true},
    {"deeplabv3_resnet101", segmentation<DeepLabV3, kResNet101>, true},
    {"unet",
     [](const ModelOptions& o) {
       return nn::AnyModule(UNet({.num_classes = o.num_classes.value_or(1)}));
     }},
    {"unet_small",
     [](const ModelOptions& o) {
       return nn::AnyModule(UNet({.num_classes = o.num_classes.value_or(1), .base_channels = 16}));
     }},
    {"unet_3d",
     [](const ModelOptions& o) {
       return nn::AnyModule(UNet3d({.num_classes = o.num_classes.value_or(1)}));
     }},
    {"r3d_18", video_resnet<kR3D18>},
    {"mc3_18", video_resnet<kMC318>},
    {"r2plus1d_18", video_resnet<kR2Plus1D18>},
};

bool is_aux(const std::string& name) { return name.compare(0, 15, "aux_classifier.") == 0; }

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Entry& entry : kEntries) result.push_back(entry.name);
  return result;
}

nn::AnyModule make(const Text& name, const ModelOptions& options) {
  std::string known;
  for (const Entry& entry : kEntries) {
    if (name == entry.name) {
      check(entry.has_aux || !options.aux_loss, "models", "aux_loss needs a network with that head",
            name);
      return entry.make(options);
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  fail("models", "name must be one of " + known, "\"", name, "\"");
}

nn::LoadReport load_weights(nn::Module& module, const Text& path, nn::LoadOptions options) {
  const NamedTensors given = load(path);
  const auto has_aux = [](const NamedTensors& state) {
    return std::any_of(state.begin(), state.end(),
                       [](const auto& one) { return is_aux(one.first); });
  };
  if (has_aux(given) != has_aux(module.state_dict())) options.leave_out.push_back("aux_classifier");
  return module.load_state_dict(given, options);
}

}  // namespace aorta::models
