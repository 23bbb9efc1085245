// A layer and its batch normalisation as one layer.
#include <aorta/nn/fuse.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

namespace aorta::nn {
namespace {

template <class Norm>
Norm used_norm(int64_t features, const BatchNormOptions& options = {}) {
  Norm bn(features, options);
  bn.to(f64);
  init::normal_(bn.running_mean);
  init::uniform_(bn.running_var, 0.5, 2);
  if (bn.weight.defined()) init::normal_(bn.weight);
  if (bn.bias.defined()) init::normal_(bn.bias);
  bn.eval();
  return bn;
}

template <class Layer>
Layer used(Layer layer) {
  layer.to(f64);
  layer.eval();
  return layer;
}

TEST(Fuse, GivesWhatBothGive) {
  const Tensor x = randn({2, 4, 6, 5}, {.dtype = f64});
  for (const bool bias : {true, false}) {
    for (const int64_t groups : {1, 2}) {
      const auto conv = used(Conv2d(4, 6, 3, {.groups = groups, .bias = bias}));
      const auto bn = used_norm<BatchNorm2d>(6, {.bias = bias});
      const Conv2d fused = fuse_conv_bn_eval(conv, bn);
      EXPECT_TRUE(near(fused(x), bn(conv(x)), 1e-12));
      EXPECT_EQ(fused.named_parameters().size(), 2u);
      EXPECT_EQ(conv.named_parameters().size(), bias ? 2u : 1u);
      const auto back = used(ConvTranspose2d(4, 6, 2, {.groups = groups, .bias = bias}));
      EXPECT_TRUE(near(fuse_conv_bn_eval(back, bn)(x), bn(back(x)), 1e-12));
    }
  }
  const auto linear = used(Linear(5, 3));
  const auto bn = used_norm<BatchNorm1d>(3, {.eps = 0.1, .affine = false});
  const Tensor rows = randn({7, 5}, {.dtype = f64});
  EXPECT_TRUE(near(fuse_linear_bn_eval(linear, bn)(rows), bn(linear(rows)), 1e-12));
}

TEST(Fuse, RefusesWhatWouldGiveSomethingElse) {
  const auto conv = used(Conv1d(2, 3, 1));
  EXPECT_EQ(error_of([&] { fuse_conv_bn_eval(conv, used_norm<BatchNorm1d>(2)); }),
            "fuse_conv_bn_eval: the normalisation must be of the layer's outputs, got 2 features "
            "for 3");
  BatchNorm1d training(3);
  EXPECT_EQ(error_of([&] { fuse_conv_bn_eval(conv, training); }),
            "fuse_conv_bn_eval: both must be in eval mode, got one in training");
  const std::string rule =
      "fuse_conv_bn_eval: the normalisation must have running statistics and no ReLU, got ";
  for (const BatchNormOptions& options :
       {BatchNormOptions{.track_running_stats = false}, BatchNormOptions{.relu = true}}) {
    BatchNorm1d bn(3, options);
    bn.eval();
    EXPECT_EQ(error_of([&] { fuse_conv_bn_eval(conv, bn); }), rule + bn.extra_repr());
  }
  const auto computed = weight_norm(used(Conv1d(2, 3, 1)));
  EXPECT_EQ(error_of([&] { fuse_conv_bn_eval(computed, used_norm<BatchNorm1d>(3)); }),
            "fuse_conv_bn_eval: both must hold their parameters; see remove_parametrizations, got "
            "a parametrized one");
}

}  // namespace
}  // namespace aorta::nn
