// What networks are besides their numbers: members, further heads, initial values, errors.
#include <aorta/aorta.h>
#include <aorta/models/conv_parts.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>
#include <cmath>

namespace aorta::models {
namespace {

TEST(Models, AreMembersLikeAnyLayer) {
  struct Networks : nn::Module {
    MLP mlp{*this, "mlp", {4, 3, 2}};
    LeNet5 lenet{*this, "lenet", 7};
    UNet unet{*this, "unet", {.base_channels = 2, .depth = 1}};
    ResNet resnet{*this, "resnet", kResNet18, 7};
  };
  Networks networks;
  EXPECT_EQ(networks.named_children().size(), 4u);
  EXPECT_EQ(networks.lenet.fc3.out_features, 7);
  EXPECT_EQ(networks.get_submodule("resnet.layer4.1.bn2").type_name(), "BatchNorm2d");
  EXPECT_EQ(error_of([&] { networks.lenet(zeros({1, 2, 28, 28})); }).substr(0, 12), "lenet.conv1:");
  const auto joins = []<class M>(const M*, auto... arguments) {
    return std::is_constructible_v<M, nn::Module&, const char*, decltype(arguments)...>;
  };
  EXPECT_TRUE(joins(static_cast<FCN*>(nullptr), kResNet50));
  EXPECT_TRUE(joins(static_cast<DeepLabV3*>(nullptr), kResNet50, SegmentationOptions{}));
}

TEST(Models, StochasticDepthDropsWholeSamplesInTraining) {
  manual_seed(0);
  detail::StochasticDepth layer(0.25);
  const Tensor x = ones({4000, 2, 3});
  const Tensor out = layer(x), first = out.select(2, 0).select(1, 0);
  EXPECT_TRUE(equal(out, first.reshape({4000, 1, 1}).expand({4000, 2, 3})));
  EXPECT_NEAR(mean(first).item<double>(), 1, 0.05);
  EXPECT_TRUE(equal(gt(first, 0).to(DType::f32) * (1 / 0.75f), first));
  layer.eval();
  EXPECT_TRUE(equal(layer(x), x));
  EXPECT_EQ(error_of([] { detail::StochasticDepth(1.5); }),
            "StochasticDepth: p must be in [0, 1], got 1.5");
}

TEST(Models, SayWhichSizesTheyHave) {
  EXPECT_EQ(error_of([] { BasicBlock(8, 8, {.groups = 2}); }),
            "BasicBlock: groups must be 1 and width_per_group 64, got 2 and 64");
  EXPECT_EQ(error_of([] { Bottleneck(8, 8, {.groups = 0}); }),
            "Bottleneck: planes, groups and width_per_group must be positive, got 8, 0 and 64");
  EXPECT_EQ(error_of([] { EfficientNet({.width = 0}); }),
            "EfficientNet: width and depth must be in (0, 8], got 0 and 1");
  EXPECT_EQ(error_of([] { MNASNet(-1); }), "MNASNet: alpha must be in (0, 8], got -1");
  EXPECT_EQ(error_of([] {
              ShuffleNetV2(ShuffleNetV2Layout{{3, 4, 4, 4}});
            }),
            "ShuffleNetV2: channels of a stage must be even and positive, got 3");
  const auto swin_error = [](const SwinLayout& layout) {
    return error_of([&] { SwinTransformer{layout}; });
  };
  EXPECT_EQ(swin_error({0, {1, 1, 1, 1}, {1, 1, 1, 1}, 7}),
            "SwinTransformer: embed_dim must be in [1, 2^20], got 0");
  EXPECT_EQ(swin_error({6, {1, 1, 1, 1}, {1, 1, 5, 1}, 7}),
            "SwinTransformer: num_heads must be positive and divide a stage's channels, got 5 for "
            "24");
  EXPECT_EQ(swin_error({6, {1, 1, -1, 1}, {1, 1, 1, 1}, 7}),
            "SwinTransformer: depths must not be negative, got -1");
  EXPECT_EQ(swin_error({6, {1, 1, 1, 1}, {1, 1, 1, 1}, 1, 0, SwinVersion::v2}),
            "SwinTransformer: window_size must be in [1, 64], and above 1 in the second version, "
            "got 1");
  const auto maxvit_error = [](int64_t head_dim, int64_t partition, int64_t size) {
    return error_of([&] { MaxVit({4, {4, 4, 4, 4}, {1, 1, 1, 1}, head_dim, partition, 0, size}); });
  };
  EXPECT_EQ(maxvit_error(0, 1, 32),
            "MaxVit: stem_channels, head_dim, partition_size and input_size must be positive, got "
            "4, 0, 1 and 32");
  EXPECT_EQ(maxvit_error(3, 1, 32),
            "MaxVit: a block's channels must be at least 4, and a multiple of head_dim, got 4 for "
            "3");
  EXPECT_EQ(maxvit_error(4, 2, 32),
            "MaxVit: partition_size must divide the size of each block's maps, got 2 for 1");
  EXPECT_EQ(error_of([] {
              MaxVit({4, {4, 4, 4, 4}, {0, 0, 0, 0}, 4, 1, 0, 32})(zeros({1, 3, 32, 33}));
            }),
            "MaxVit: input must be (N, 3, input_size, input_size), got [1,3,32,33] for 32");
  const VisionTransformerOptions small{.image_size = 8,
                                       .patch_size = 4,
                                       .num_layers = 1,
                                       .num_heads = 2,
                                       .hidden_dim = 4,
                                       .mlp_dim = 4};
  EXPECT_EQ(error_of([&] {
              VisionTransformer{small}(zeros({1, 3, 8, 9}));
            }),
            "VisionTransformer: input must be (N, 3, image_size, image_size), got [1,3,8,9] for 8");
  EXPECT_EQ(error_of([] { VisionTransformer({.image_size = 9, .patch_size = 4}); }),
            "VisionTransformer: image_size must be a multiple of patch_size, got 9 and 4");
}

TEST(Models, StartWithTheDistributionsOfTorchvision) {
  manual_seed(0);
  const auto deviation = [](const Tensor& weight) {
    return std::sqrt(mean(weight.detach() * weight.detach()).item<double>());
  };
  const auto linear = [](nn::Sequential& layers, int64_t i) -> const nn::Linear& {
    return dynamic_cast<const nn::Linear&>(layers[i]);
  };
  MobileNetV2 mobile(50);
  EXPECT_NEAR(deviation(linear(mobile.classifier, 1).weight), 0.01, 2e-4);
  EXPECT_EQ(deviation(linear(mobile.classifier, 1).bias), 0);
  const auto& conv = dynamic_cast<const nn::Conv2d&>(mobile.get_submodule("features.18.0"));
  EXPECT_NEAR(deviation(conv.weight), std::sqrt(2.0 / 1280), 1e-3);
  EfficientNet efficient(kEfficientNetB0, 25);
  EXPECT_NEAR(deviation(linear(efficient.classifier, 1).weight), 0.2 / std::sqrt(3.0), 2e-3);
  MNASNet mnas(0.5, 25);
  EXPECT_NEAR(deviation(linear(mnas.classifier, 1).weight), 0.2, 4e-3);
  SqueezeNet squeeze(SqueezeNetVersion::v1_1, 50);
  const auto& last = dynamic_cast<const nn::Conv2d&>(squeeze.classifier[1]);
  EXPECT_NEAR(deviation(last.weight), 0.01, 2e-4);
  const GoogLeNet google({.num_classes = 3});
  EXPECT_NEAR(deviation(google.conv3.conv.weight), 0.01, 2e-4);
  EXPECT_NEAR(deviation(dynamic_cast<const nn::Linear&>(google.aux1[3]).weight), 0.01, 2e-4);
  EXPECT_GT(deviation(google.fc.bias), 0);
  const Inception3 inception({.num_classes = 3});
  EXPECT_NEAR(deviation(inception.fc.weight), 0.1, 4e-3);
  EXPECT_NEAR(deviation(inception.AuxLogits.state_dict()[6].second), 0.1, 1e-3);
  EXPECT_NEAR(deviation(inception.AuxLogits.state_dict()[12].second), 0.001, 5e-5);
  const DenseNet dense({{1, 1, 1, 1}}, 50);
  EXPECT_EQ(deviation(dense.classifier.bias), 0);
  ConvNeXt next({{1, 1, 1, 1}, {32, 64, 64, 64}}, 50);
  EXPECT_NEAR(deviation(linear(next.classifier, 2).weight), 0.02, 1e-3);
  EXPECT_EQ(next.state_dict()[4].first, "features.1.0.layer_scale");
  EXPECT_NEAR(deviation(next.state_dict()[4].second), 1e-6, 1e-12);
  const VisionTransformer vision(
      {.image_size = 64, .num_layers = 1, .num_heads = 2, .hidden_dim = 64});
  EXPECT_NEAR(deviation(vision.conv_proj.weight), 1 / std::sqrt(768.0), 1e-3);
  EXPECT_NEAR(deviation(vision.encoder.pos_embedding), 0.02, 2e-3);
  EXPECT_EQ(deviation(vision.class_token), 0);
}

Tensor part_of(const nn::Module& network, const std::string& name) {
  for (const auto& [full, tensor] : network.state_dict())
    if (full == name) return tensor.detach();
  return {};
}

TEST(SwinTransformer, StartsWithTheDistributionsOfTorchvision) {
  manual_seed(0);
  const SwinTransformer first({32, {1, 1, 1, 1}, {2, 2, 2, 2}, 7}, 50),
      second({32, {1, 1, 1, 1}, {2, 2, 2, 2}, 3, 0, SwinVersion::v2}, 50);
  const auto deviation = [](const nn::Module& network, const std::string& name) {
    const Tensor weight = part_of(network, name);
    return std::sqrt(mean(weight * weight).item<double>());
  };
  const std::string attention = "features.1.0.attn.";
  EXPECT_NEAR(deviation(first, attention + "relative_position_bias_table"), 0.02, 2e-3);
  EXPECT_NEAR(deviation(first, attention + "qkv.weight"), 0.02, 1e-3);
  EXPECT_NEAR(deviation(first, "features.1.0.mlp.0.weight"), 0.02, 1e-3);
  EXPECT_EQ(deviation(first, "features.1.0.mlp.0.bias"), 0);
  EXPECT_NEAR(deviation(second, "head.weight"), 0.02, 1e-3);
  EXPECT_EQ(deviation(second, "head.bias"), 0);
  EXPECT_NEAR(deviation(second, "features.2.reduction.weight"), 0.02, 1e-3);
  EXPECT_NEAR(deviation(second, attention + "cpb_mlp.2.weight"), 0.02, 1e-3);
  EXPECT_NEAR(deviation(second, attention + "logit_scale"), std::log(10.0), 1e-6);
  // Distances of up to 2 positions, as 8 log2(4 d + 1) / log2(8) / 8.
  const Tensor distances = part_of(second, attention + "relative_coords_table").select(0, 0);
  const Tensor wanted = tensor({-1.0566417f, -0.7739760f, 0.f, 0.7739760f, 1.0566417f});
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(allclose(distances.select(2, 0).select(1, i), wanted));
    EXPECT_TRUE(allclose(distances.select(2, 1).select(0, i), wanted));
  }
}

TEST(MaxVit, StartsWithTheDistributionsOfTorchvision) {
  manual_seed(0);
  const MaxVit net({32, {32, 32, 32, 32}, {1, 1, 1, 1}, 16, 7}, 50);
  const auto deviation = [&](const std::string& name) {
    const Tensor weight = part_of(net, name);
    return std::sqrt(mean(weight * weight).item<double>());
  };
  const std::string layer = "blocks.1.layers.0.layers.";
  EXPECT_NEAR(deviation("stem.1.0.weight"), 0.02, 1e-3);
  EXPECT_EQ(deviation("stem.1.0.bias"), 0);
  EXPECT_NEAR(deviation(layer + "MBconv.layers.conv_c.weight"), 0.02, 1e-3);
  EXPECT_NEAR(deviation(layer + "grid_attention.attn_layer.1.relative_position_bias_table"), 0.02,
              2e-3);
  EXPECT_NEAR(deviation(layer + "grid_attention.mlp_layer.1.weight"), 0.02, 1e-3);
  EXPECT_NEAR(deviation("classifier.5.weight"), 0.02, 1e-3);
}

TEST(SwinTransformer, ItsSecondVersionBoundsTheScaleAndLeavesKeysWithoutBias) {
  manual_seed(0);
  SwinTransformer net({8, {2, 0, 0, 0}, {2, 2, 2, 2}, 2, 0, SwinVersion::v2}, 5);
  net.eval();
  const Tensor x = randn({2, 3, 24, 20});
  const NoGradGuard no_grad;
  const auto with_scale = [&](double scale) {
    nn::init::constant_(part_of(net, "features.1.1.attn.logit_scale"), scale);
    return net(x);
  };
  EXPECT_TRUE(equal(with_scale(6), with_scale(std::log(100.0))));
  const Tensor before = with_scale(2);
  EXPECT_FALSE(equal(before, with_scale(4)));
  const Tensor bias = part_of(net, "features.1.1.attn.qkv.bias");
  nn::init::constant_(bias.narrow(0, 8, 8), 3.0);
  EXPECT_TRUE(equal(with_scale(2), before));
  nn::init::constant_(bias.narrow(0, 0, 8), 3.0);
  EXPECT_FALSE(equal(with_scale(2), before));
}

TEST(Models, RefuseBlocksThatNoConvolutionHas) {
  EXPECT_EQ(error_of([] { VideoBlock(VideoConv::factored, 1, -3, 1); }),
            "VideoBlock: channels, planes and stride must be positive, got 1, -3 and 1");
  const int64_t wide = int64_t{1} << 40;
  EXPECT_EQ(error_of([&] { VideoBlock(VideoConv::full, wide, wide, 1); }).substr(0, 12),
            "VideoBlock: ");
}

// Sizes that no power of two divides, and frames by themselves.
TEST(UNet3d, EachFrameIsFoundFromThoseAroundIt) {
  manual_seed(0);
  UNet3d net({.frames = 3, .base_channels = 2, .depth = 3});
  net.eval();
  for (const Shape& shape : {Shape{1, 3, 3, 8, 8}, {2, 3, 7, 13, 18}, {1, 1, 8, 16, 16}}) {
    const Tensor clips = randn(shape), logits = net(clips);
    EXPECT_EQ(logits.shape(), Shape({shape[0], 1, shape[2] - 2, shape[3], shape[4]}));
    for (int64_t t = 0; t < logits.size(2); ++t)
      EXPECT_TRUE(allclose(logits.narrow(2, t, 1), net(clips.narrow(2, t, 3)), 1e-4, 1e-5));
  }
  EXPECT_EQ(error_of([&] {
              net(zeros({1, 3, 2, 8, 8}));
            }),
            "UNet3d: clips must be (N, C, T, H, W) of as many frames as it sees, got [1,3,2,8,8] "
            "for 3");
}

TEST(Models, SayWhereAnInputDoesNotFit) {
  EXPECT_EQ(error_of([] {
              make("resnet18")(zeros({1, 4, 32, 32}));
            }).substr(0, 15),
            "conv1: conv2d: ");
}

TEST(GoogLeNet, HasFurtherHeadsInTrainingAlone) {
  manual_seed(0);
  GoogLeNet net({.num_classes = 3}), without({.num_classes = 3, .aux_logits = false});
  const Tensor x = randn({2, 3, 32, 32});
  EXPECT_EQ(net.heads(x).aux_logits1.shape(), Shape({2, 3}));
  EXPECT_FALSE(without.heads(x).aux_logits1.defined());
  EXPECT_TRUE(without.heads(x).logits.defined());
  net.eval();
  EXPECT_FALSE(net.heads(x).aux_logits2.defined());
  EXPECT_TRUE(equal(net.heads(x).logits, net(x)));
  // What the transformed images are, by themselves.
  const Tensor mean = tensor({0.485f, 0.456f, 0.406f}).reshape({3, 1, 1}),
               deviation = tensor({0.229f, 0.224f, 0.225f}).reshape({3, 1, 1}),
               wanted = net((x * deviation + mean - 0.5) / 0.5);
  net.transform_input = true;
  EXPECT_TRUE(allclose(net(x), wanted, 1e-4, 1e-5));
  EXPECT_EQ(error_of([&] {
              net(zeros({1, 4, 32, 32}));
            }),
            "GoogLeNet: images that are transformed must be (N, 3, H, W), got [1,4,32,32]");
  const std::string path = testing::TempDir() + "googlenet.safetensors";
  save(net.state_dict(), path);
  EXPECT_EQ(load_weights(without, path).unexpected.size(), 20u);
  EXPECT_EQ(load_weights(net, path).missing.size(), 0u);
}

TEST(Inception3, ItsFurtherHeadSeesMixed6e) {
  manual_seed(0);
  Inception3 net({.num_classes = 3});
  Tensor maps;
  const HookHandle hook = net.Mixed_6e.register_forward_hook(
      [&](const nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
        maps = outputs.at(0);
      });
  const NoGradGuard no_grad;
  const Inception3Output found = net.heads(randn({2, 3, 299, 299}));
  EXPECT_EQ(maps.shape(), Shape({2, 768, 17, 17}));
  EXPECT_TRUE(equal(found.aux_logits, net.AuxLogits(maps)));
  EXPECT_EQ(found.logits.shape(), Shape({2, 3}));
  net.eval();
  const Tensor x = randn({1, 3, 75, 75});
  EXPECT_FALSE(net.heads(x).aux_logits.defined());
  const Tensor wanted = net(detail::within_one("Inception3", x));
  net.transform_input = true;
  EXPECT_TRUE(equal(net(x), wanted));
  EXPECT_NE(error_of([&] { net(zeros({1, 3, 64, 64})); }), kNoError);
}

}  // namespace
}  // namespace aorta::models
