#pragma once

#include <aorta/nn/module.h>

#include <optional>

namespace aorta::models {

/// What can be said of a network that is made by its name.
struct ModelOptions {
  std::optional<int64_t> num_classes = {};  // by default that of the network's class
  /// The further heads of FCN, DeepLabV3, GoogLeNet and Inception v3, by default where torchvision
  /// has them.
  std::optional<bool> aux_loss = {};
};
/// A network by name. Classifiers of images, with torchvision's names and defaults:
/// - resnet18, 34, 50, 101 and 152, resnext50_32x4d, resnext101_32x8d, resnext101_64x4d,
///   wide_resnet50_2, wide_resnet101_2
/// - alexnet, vgg11, 13, 16 and 19, each with _bn too
/// - mobilenet_v2, mobilenet_v3_large, mobilenet_v3_small, efficientnet_b0 to efficientnet_b7
/// - densenet121, 161, 169 and 201, squeezenet1_0, squeezenet1_1
/// - shufflenet_v2_x0_5, x1_0, x1_5 and x2_0, mnasnet0_5, 0_75, 1_0 and 1_3
/// - googlenet, inception_v3, swin_t, s and b, swin_v2_t, s and b
/// - convnext_tiny, small, base and large, and of images of 224 x 224 vit_b_16, vit_b_32, vit_l_16,
///   vit_l_32, vit_h_14 and maxvit_t
///
/// Others of images: mlp (784, 128, classes), lenet5, fcn_resnet50, fcn_resnet101,
/// deeplabv3_resnet50, deeplabv3_resnet101, unet, unet_small (16 channels at first). Of clips:
/// unet_3d, r3d_18, mc3_18, r2plus1d_18. Errors: another name; aux_loss elsewhere.
nn::AnyModule make(const Text& name, const ModelOptions& options = {});
/// The names that `make` knows.
std::vector<std::string> names();

/// Loads a state, as PyTorch and torchvision have it, from a .safetensors or .npz file. Names and
/// shapes must be the module's, but for what the options leave out (`{.leave_out = {"fc"}}`: the
/// head of a network of other classes) and the further heads (`aux_classifier`, `aux1`, `aux2`,
/// `AuxLogits`) that one of the two lacks; the names of both are reported.
nn::LoadReport load_weights(nn::Module& module, const Text& path, nn::LoadOptions options = {});

}  // namespace aorta::models
