#pragma once

#include <aorta/nn/module.h>

#include <optional>

namespace aorta::models {

/// What can be said of a network that is made by its name.
struct ModelOptions {
  std::optional<int64_t> num_classes = {};  // by default that of the network's class
  bool aux_loss = false;                    // of the FCN and DeepLabV3 alone
};
/// A network by name: mlp (784, 128, classes), lenet5, resnet18, resnet34, resnet50, resnet101,
/// fcn_resnet50, fcn_resnet101, deeplabv3_resnet50, deeplabv3_resnet101, unet, unet_small (16
/// channels at first), and of clips unet_3d, r3d_18, mc3_18, r2plus1d_18. Errors: another name;
/// aux_loss elsewhere.
nn::AnyModule make(const Text& name, const ModelOptions& options = {});
/// The names that `make` knows.
std::vector<std::string> names();

/// Loads a state, as PyTorch and torchvision have it, from a .safetensors or .npz file. Names and
/// shapes must be the module's, but for what the options leave out (`{.leave_out = {"fc"}}`: the
/// head of a network of other classes) and an `aux_classifier` that one of the two lacks; the names
/// of both are reported.
nn::LoadReport load_weights(nn::Module& module, const Text& path, nn::LoadOptions options = {});

}  // namespace aorta::models
