#pragma once

#include <aorta/models/conv_parts.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/linear.h>

#include <vector>

// Inception v3 (Szegedy et al. 2016, "Rethinking the Inception Architecture for Computer Vision")
// with torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

namespace detail {

/// A convolution of a branch. One of stride 1 is padded such that it keeps sizes, one of stride 2
/// not at all.
struct MixedConv {
  int64_t planes;
  Dims kernel_size;
  int64_t stride = 1;
};
/// What stands in front of a branch's convolutions; 3x3, and a maximum has stride 2.
enum class MixedPool : uint8_t { none, average, max };
/// Convolutions after one another; behind a forked one both of the last two see the maps in front
/// of them, and give theirs side by side.
struct MixedBranch {
  std::string name;
  std::vector<MixedConv> convs;
  MixedPool pool = MixedPool::none;
  bool is_forked = false;
};

/// Branches side by side, (N, C, H, W) -> (N, planes, H', W'). A branch's only convolution has its
/// name, and several have numbers behind it.
struct Mixed : nn::Sequential {
  Mixed(int64_t channels, const std::vector<MixedBranch>& branches);
  Mixed(nn::Module& owner, const char* name, int64_t channels,
        const std::vector<MixedBranch>& branches)
      : Mixed(channels, branches) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  std::vector<MixedBranch> branches;
};

/// The five blocks of the paper.
std::vector<MixedBranch> mixed_a(int64_t pooled);
std::vector<MixedBranch> mixed_b();
std::vector<MixedBranch> mixed_c(int64_t width);
std::vector<MixedBranch> mixed_d();
std::vector<MixedBranch> mixed_e();

}  // namespace detail

/// The options of Inception3, with torchvision's names and defaults.
struct Inception3Options {
  int64_t num_classes = 1000;
  bool aux_logits = true;  // a further head, whose loss helps in training
  /// Images are normalised as for torchvision's other networks, and become what the weights that
  /// torchvision offers were trained with.
  bool transform_input = false;
};
/// The logits (N, classes) of both heads; the second are undefined in eval mode, and without that
/// head.
struct Inception3Output {
  Tensor logits, aux_logits;
};

/// (N, 3, H, W) of at least 75 x 75, or 299 x 299 where the further head is asked for, -> (N,
/// classes). Dropout is 0.5.
class Inception3 : public nn::Module {
 public:
  explicit Inception3(const Inception3Options& options = {});
  Inception3(nn::Module& owner, const char* name, const Inception3Options& options = {})
      : Inception3(options) {
    join(owner, name);
  }
  /// The logits of both heads: torchvision's output in training.
  Inception3Output heads(const Tensor& input) const;
  /// Returns the logits of the first head.
  Tensor forward(const Tensor& input) const override;

  bool transform_input;
  detail::BasicConv2d Conv2d_1a_3x3{*this, "Conv2d_1a_3x3", 3, 32, 3, {.stride = 2}};
  detail::BasicConv2d Conv2d_2a_3x3{*this, "Conv2d_2a_3x3", 32, 32, 3};
  detail::BasicConv2d Conv2d_2b_3x3{*this, "Conv2d_2b_3x3", 32, 64, 3, {.padding = 1}};
  nn::MaxPool2d maxpool1{*this, "maxpool1", 3, {.stride = 2}};
  detail::BasicConv2d Conv2d_3b_1x1{*this, "Conv2d_3b_1x1", 64, 80, 1};
  detail::BasicConv2d Conv2d_4a_3x3{*this, "Conv2d_4a_3x3", 80, 192, 3};
  nn::MaxPool2d maxpool2{*this, "maxpool2", 3, {.stride = 2}};
  detail::Mixed Mixed_5b{*this, "Mixed_5b", 192, detail::mixed_a(32)};
  detail::Mixed Mixed_5c{*this, "Mixed_5c", 256, detail::mixed_a(64)};
  detail::Mixed Mixed_5d{*this, "Mixed_5d", 288, detail::mixed_a(64)};
  detail::Mixed Mixed_6a{*this, "Mixed_6a", 288, detail::mixed_b()};
  detail::Mixed Mixed_6b{*this, "Mixed_6b", 768, detail::mixed_c(128)};
  detail::Mixed Mixed_6c{*this, "Mixed_6c", 768, detail::mixed_c(160)};
  detail::Mixed Mixed_6d{*this, "Mixed_6d", 768, detail::mixed_c(160)};
  detail::Mixed Mixed_6e{*this, "Mixed_6e", 768, detail::mixed_c(192)};
  nn::Sequential AuxLogits{*this, "AuxLogits"};  // on Mixed_6e; empty without aux_logits
  detail::Mixed Mixed_7a{*this, "Mixed_7a", 768, detail::mixed_d()};
  detail::Mixed Mixed_7b{*this, "Mixed_7b", 1280, detail::mixed_e()};
  detail::Mixed Mixed_7c{*this, "Mixed_7c", 2048, detail::mixed_e()};
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Dropout dropout{*this, "dropout", 0.5};
  nn::Linear fc;

 private:
  Tensor sixth(const Tensor& input) const;
  Tensor logits_of(const Tensor& maps) const;
};

}  // namespace aorta::models
