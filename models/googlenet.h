#pragma once

#include <aorta/models/conv_parts.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/linear.h>

// GoogLeNet (Szegedy et al. 2015, "Going Deeper with Convolutions") with batch norms and with
// torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

namespace detail {

/// How many channels the branches of an Inception have; those of a reduced one go into its 3x3.
struct InceptionWidths {
  int64_t one, reduced_three, three, reduced_five, five, pooled;
};

/// Four branches side by side, (N, C, H, W) -> (N, one + three + five + pooled, H, W). The third
/// one's kernel is 3x3 too, as torchvision has it.
struct Inception : nn::Module {
  Inception(int64_t channels, const InceptionWidths& widths);
  Inception(nn::Module& owner, const char* name, int64_t channels, const InceptionWidths& widths)
      : Inception(channels, widths) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  BasicConv2d branch1;
  nn::Sequential branch2{*this, "branch2"};
  nn::Sequential branch3{*this, "branch3"};
  nn::Sequential branch4{*this, "branch4"};
};

}  // namespace detail

/// The options of GoogLeNet, with torchvision's names and defaults.
struct GoogLeNetOptions {
  int64_t num_classes = 1000;
  bool aux_logits = true;  // two further heads, whose losses help in training
  /// Images are normalised as for torchvision's other networks, and become what the weights that
  /// torchvision offers were trained with.
  bool transform_input = false;
};
/// The logits (N, classes) of the three heads; the last two are undefined in eval mode, and without
/// these heads.
struct GoogLeNetOutput {
  Tensor logits, aux_logits2, aux_logits1;
};

/// (N, 3, H, W) of at least 15 x 15 -> (N, classes). Dropout is 0.2, and 0.7 in the further heads.
class GoogLeNet : public nn::Module {
 public:
  explicit GoogLeNet(const GoogLeNetOptions& options = {});
  GoogLeNet(nn::Module& owner, const char* name, const GoogLeNetOptions& options = {})
      : GoogLeNet(options) {
    join(owner, name);
  }
  /// The logits of all heads: torchvision's output in training.
  GoogLeNetOutput heads(const Tensor& input) const;
  /// Returns the logits of the first head.
  Tensor forward(const Tensor& input) const override;

  bool transform_input;
  detail::BasicConv2d conv1{*this, "conv1", 3, 64, 7, {.stride = 2, .padding = 3}};
  nn::MaxPool2d maxpool1{*this, "maxpool1", 3, {.stride = 2, .ceil_mode = true}};
  detail::BasicConv2d conv2{*this, "conv2", 64, 64, 1};
  detail::BasicConv2d conv3{*this, "conv3", 64, 192, 3, {.padding = 1}};
  nn::MaxPool2d maxpool2{*this, "maxpool2", 3, {.stride = 2, .ceil_mode = true}};
  detail::Inception inception3a{*this, "inception3a", 192, {64, 96, 128, 16, 32, 32}};
  detail::Inception inception3b{*this, "inception3b", 256, {128, 128, 192, 32, 96, 64}};
  nn::MaxPool2d maxpool3{*this, "maxpool3", 3, {.stride = 2, .ceil_mode = true}};
  detail::Inception inception4a{*this, "inception4a", 480, {192, 96, 208, 16, 48, 64}};
  detail::Inception inception4b{*this, "inception4b", 512, {160, 112, 224, 24, 64, 64}};
  detail::Inception inception4c{*this, "inception4c", 512, {128, 128, 256, 24, 64, 64}};
  detail::Inception inception4d{*this, "inception4d", 512, {112, 144, 288, 32, 64, 64}};
  detail::Inception inception4e{*this, "inception4e", 528, {256, 160, 320, 32, 128, 128}};
  nn::MaxPool2d maxpool4{*this, "maxpool4", 2, {.stride = 2, .ceil_mode = true}};
  detail::Inception inception5a{*this, "inception5a", 832, {256, 160, 320, 32, 128, 128}};
  detail::Inception inception5b{*this, "inception5b", 832, {384, 192, 384, 48, 128, 128}};
  nn::Sequential aux1{*this, "aux1"};  // on inception4a; empty without aux_logits
  nn::Sequential aux2{*this, "aux2"};  // on inception4d
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Dropout dropout{*this, "dropout", 0.2};
  nn::Linear fc;

 private:
  Tensor fourth_a(const Tensor& input) const;
  Tensor fourth_d(const Tensor& maps) const;
  Tensor logits_of(const Tensor& maps) const;
};

}  // namespace aorta::models
