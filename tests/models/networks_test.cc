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
