#include <aorta/core/io/load_save.h>
#include <aorta/models/convnext.h>
#include <aorta/models/densenet.h>
#include <aorta/models/efficientnet.h>
#include <aorta/models/googlenet.h>
#include <aorta/models/inception.h>
#include <aorta/models/lenet.h>
#include <aorta/models/make.h>
#include <aorta/models/maxvit.h>
#include <aorta/models/mlp.h>
#include <aorta/models/mnasnet.h>
#include <aorta/models/mobilenet.h>
#include <aorta/models/regnet.h>
#include <aorta/models/segmentation.h>
#include <aorta/models/shufflenet.h>
#include <aorta/models/squeezenet.h>
#include <aorta/models/swin_transformer.h>
#include <aorta/models/unet.h>
#include <aorta/models/unet_3d.h>
#include <aorta/models/vgg.h>
#include <aorta/models/video_resnet.h>
#include <aorta/models/vision_transformer.h>

#include <algorithm>

namespace aorta::models {
namespace {

using Make = nn::AnyModule (*)(const ModelOptions& options);

// A network for the thousand classes of ImageNet.
template <class Network, const auto&... layout>
nn::AnyModule imagenet(const ModelOptions& options) {
  return Network(layout..., options.num_classes.value_or(1000));
}

template <const ResNetLayout& layout>
nn::AnyModule resnet(const ModelOptions& options) {
  return imagenet<ResNet, layout>(options);
}

template <MobileNetV3Size size>
nn::AnyModule mobilenet_v3(const ModelOptions& options) {
  return MobileNetV3(size, options.num_classes.value_or(1000));
}

template <SqueezeNetVersion version>
nn::AnyModule squeezenet(const ModelOptions& options) {
  return SqueezeNet(version, options.num_classes.value_or(1000));
}

template <int hundredths>
nn::AnyModule mnasnet(const ModelOptions& options) {
  return MNASNet(hundredths / 100.0, options.num_classes.value_or(1000));
}

template <VisionTransformerOptions sizes>
nn::AnyModule vision_transformer(const ModelOptions& options) {
  VisionTransformerOptions all = sizes;
  all.num_classes = options.num_classes.value_or(1000);
  return VisionTransformer(all);
}

constexpr VisionTransformerOptions large_vision_transformer(int64_t patch_size) {
  return {.patch_size = patch_size,
          .num_layers = 24,
          .num_heads = 16,
          .hidden_dim = 1024,
          .mlp_dim = 4096};
}

constexpr VisionTransformerOptions huge_vision_transformer() {
  return {.patch_size = 14, .num_layers = 32, .num_heads = 16, .hidden_dim = 1280, .mlp_dim = 5120};
}

template <const VideoResNetLayout& layout>
nn::AnyModule video_resnet(const ModelOptions& options) {
  return VideoResNet(layout, options.num_classes.value_or(400));
}

template <class Network, const ResNetLayout& layout>
nn::AnyModule segmentation(const ModelOptions& options) {
  return Network(layout, {.num_classes = options.num_classes.value_or(21),
                          .aux_loss = options.aux_loss.value_or(false)});
}

template <class Network>
nn::AnyModule with_aux_logits(const ModelOptions& options) {
  return Network({.num_classes = options.num_classes.value_or(1000),
                  .aux_logits = options.aux_loss.value_or(true)});
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
    {"resnet152", resnet<kResNet152>},
    {"resnext50_32x4d", resnet<kResNeXt50_32x4d>},
    {"resnext101_32x8d", resnet<kResNeXt101_32x8d>},
    {"resnext101_64x4d", resnet<kResNeXt101_64x4d>},
    {"wide_resnet50_2", resnet<kWideResNet50_2>},
    {"wide_resnet101_2", resnet<kWideResNet101_2>},
    {"alexnet", imagenet<AlexNet>},
    {"vgg11", imagenet<VGG, kVGG11>},
    {"vgg11_bn", imagenet<VGG, kVGG11BN>},
    {"vgg13", imagenet<VGG, kVGG13>},
    {"vgg13_bn", imagenet<VGG, kVGG13BN>},
    {"vgg16", imagenet<VGG, kVGG16>},
    {"vgg16_bn", imagenet<VGG, kVGG16BN>},
    {"vgg19", imagenet<VGG, kVGG19>},
    {"vgg19_bn", imagenet<VGG, kVGG19BN>},
    {"mobilenet_v2", imagenet<MobileNetV2>},
    {"mobilenet_v3_large", mobilenet_v3<MobileNetV3Size::large>},
    {"mobilenet_v3_small", mobilenet_v3<MobileNetV3Size::small>},
    {"efficientnet_b0", imagenet<EfficientNet, kEfficientNetB0>},
    {"efficientnet_b1", imagenet<EfficientNet, kEfficientNetB1>},
    {"efficientnet_b2", imagenet<EfficientNet, kEfficientNetB2>},
    {"efficientnet_b3", imagenet<EfficientNet, kEfficientNetB3>},
    {"efficientnet_b4", imagenet<EfficientNet, kEfficientNetB4>},
    {"efficientnet_b5", imagenet<EfficientNet, kEfficientNetB5>},
    {"efficientnet_b6", imagenet<EfficientNet, kEfficientNetB6>},
    {"efficientnet_b7", imagenet<EfficientNet, kEfficientNetB7>},
    {"efficientnet_v2_s", imagenet<EfficientNet, kEfficientNetV2S>},
    {"efficientnet_v2_m", imagenet<EfficientNet, kEfficientNetV2M>},
    {"efficientnet_v2_l", imagenet<EfficientNet, kEfficientNetV2L>},
    {"regnet_x_400mf", imagenet<RegNet, kRegNetX400MF>},
    {"regnet_x_800mf", imagenet<RegNet, kRegNetX800MF>},
    {"regnet_x_1_6gf", imagenet<RegNet, kRegNetX1_6GF>},
    {"regnet_x_3_2gf", imagenet<RegNet, kRegNetX3_2GF>},
    {"regnet_x_8gf", imagenet<RegNet, kRegNetX8GF>},
    {"regnet_x_16gf", imagenet<RegNet, kRegNetX16GF>},
    {"regnet_x_32gf", imagenet<RegNet, kRegNetX32GF>},
    {"regnet_y_400mf", imagenet<RegNet, kRegNetY400MF>},
    {"regnet_y_800mf", imagenet<RegNet, kRegNetY800MF>},
    {"regnet_y_1_6gf", imagenet<RegNet, kRegNetY1_6GF>},
    {"regnet_y_3_2gf", imagenet<RegNet, kRegNetY3_2GF>},
    {"regnet_y_8gf", imagenet<RegNet, kRegNetY8GF>},
    {"regnet_y_16gf", imagenet<RegNet, kRegNetY16GF>},
    {"regnet_y_32gf", imagenet<RegNet, kRegNetY32GF>},
    {"regnet_y_128gf", imagenet<RegNet, kRegNetY128GF>},
    {"densenet121", imagenet<DenseNet, kDenseNet121>},
    {"densenet161", imagenet<DenseNet, kDenseNet161>},
    {"densenet169", imagenet<DenseNet, kDenseNet169>},
    {"densenet201", imagenet<DenseNet, kDenseNet201>},
    {"googlenet", with_aux_logits<GoogLeNet>, true},
    {"inception_v3", with_aux_logits<Inception3>, true},
    {"swin_t", imagenet<SwinTransformer, kSwinT>},
    {"swin_s", imagenet<SwinTransformer, kSwinS>},
    {"swin_b", imagenet<SwinTransformer, kSwinB>},
    {"swin_v2_t", imagenet<SwinTransformer, kSwinV2T>},
    {"swin_v2_s", imagenet<SwinTransformer, kSwinV2S>},
    {"swin_v2_b", imagenet<SwinTransformer, kSwinV2B>},
    {"maxvit_t", imagenet<MaxVit, kMaxVitT>},
    {"vit_b_16", vision_transformer<{}>},
    {"vit_b_32", vision_transformer<{.patch_size = 32}>},
    {"vit_l_16", vision_transformer<large_vision_transformer(16)>},
    {"vit_l_32", vision_transformer<large_vision_transformer(32)>},
    {"vit_h_14", vision_transformer<huge_vision_transformer()>},
    {"convnext_tiny", imagenet<ConvNeXt, kConvNeXtTiny>},
    {"convnext_small", imagenet<ConvNeXt, kConvNeXtSmall>},
    {"convnext_base", imagenet<ConvNeXt, kConvNeXtBase>},
    {"convnext_large", imagenet<ConvNeXt, kConvNeXtLarge>},
    {"squeezenet1_0", squeezenet<SqueezeNetVersion::v1_0>},
    {"squeezenet1_1", squeezenet<SqueezeNetVersion::v1_1>},
    {"shufflenet_v2_x0_5", imagenet<ShuffleNetV2, kShuffleNetV2_0_5>},
    {"shufflenet_v2_x1_0", imagenet<ShuffleNetV2, kShuffleNetV2_1_0>},
    {"shufflenet_v2_x1_5", imagenet<ShuffleNetV2, kShuffleNetV2_1_5>},
    {"shufflenet_v2_x2_0", imagenet<ShuffleNetV2, kShuffleNetV2_2_0>},
    {"mnasnet0_5", mnasnet<50>},
    {"mnasnet0_75", mnasnet<75>},
    {"mnasnet1_0", mnasnet<100>},
    {"mnasnet1_3", mnasnet<130>},
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

// The parts that torchvision's weights may have and a network lack.
constexpr const char* kFurtherHeads[] = {"aux_classifier", "aux1", "aux2", "AuxLogits"};

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
      check(entry.has_aux || !options.aux_loss.value_or(false), "models",
            "aux_loss needs a network with that head", name);
      return entry.make(options);
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  fail("models", "name must be one of " + known, "\"", name, "\"");
}

nn::LoadReport load_weights(nn::Module& module, const Text& path, nn::LoadOptions options) {
  const NamedTensors given = load(path);
  const NamedTensors own = module.state_dict();
  for (const char* head : kFurtherHeads) {
    const auto has_head = [prefix = head + std::string(".")](const NamedTensors& state) {
      return std::any_of(state.begin(), state.end(),
                         [&](const auto& one) { return one.first.starts_with(prefix); });
    };
    if (has_head(given) != has_head(own)) options.leave_out.push_back(head);
  }
  return module.load_state_dict(given, options);
}

}  // namespace aorta::models
