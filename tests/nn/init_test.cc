// Initial values: their ranges and moments, and the defaults of layers.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

#include <algorithm>
#include <cmath>

namespace aorta::nn {
namespace {

double moment(const Tensor& x, int power) {
  return mean(pow(x.to(DType::f64), power)).item<double>();
}

TEST(Init, BoundsAndDeviationsAreThePapers) {
  manual_seed(1);
  const Tensor w = empty({300, 20, 3, 2});  // fan_in 120, fan_out 1800
  init::xavier_uniform_(w, 2);
  const double xavier = 2 * std::sqrt(6.0 / 1920);
  EXPECT_LE(amax(abs(w)).item<double>(), xavier);
  EXPECT_GT(amax(abs(w)).item<double>(), 0.999 * xavier);
  EXPECT_NEAR(moment(w, 2), xavier * xavier / 3, 0.02 * xavier * xavier);
  init::xavier_normal_(w);
  EXPECT_NEAR(std::sqrt(moment(w, 2)), std::sqrt(2.0 / 1920), 0.02 * std::sqrt(2.0 / 1920));
  init::kaiming_uniform_(w, {.a = std::sqrt(5.0)});
  EXPECT_LE(amax(abs(w)).item<double>(), 1 / std::sqrt(120.0) + 1e-8);
  EXPECT_GT(amax(abs(w)).item<double>(), 0.999 / std::sqrt(120.0));
  init::kaiming_normal_(w, {.mode = init::Fan::out, .nonlinearity = init::Nonlinearity::relu});
  EXPECT_NEAR(std::sqrt(moment(w, 2)), std::sqrt(2.0 / 1800), 0.02 * std::sqrt(2.0 / 1800));
  EXPECT_NEAR(moment(w, 4) / std::pow(moment(w, 2), 2), 3, 0.2);  // a normal's kurtosis
}

TEST(Init, TruncatedNormal) {
  manual_seed(2);
  const Tensor w = empty({200000}, {.dtype = DType::f64});
  init::trunc_normal_(w, 0, 1, -2, 2);
  EXPECT_LE(amax(abs(w)).item<double>(), 2);
  // The variance of a standard normal cut at +-2: 1 - 4 phi(2) / (2 Phi(2) - 1).
  EXPECT_NEAR(moment(w, 2), 0.7737413, 0.01);
  EXPECT_NEAR(moment(w, 1), 0, 0.01);
  const Tensor named = empty_like(w);
  manual_seed(3);
  init::trunc_normal_(named, {.mean = 1, .std = 0.5, .a = 0, .b = 1.5});
  manual_seed(3);
  init::trunc_normal_(w, 1, 0.5, 0, 1.5);
  EXPECT_TRUE(equal(named, w));
  // Far in the tail, where the cumulative function is flat: E = 10 + about 0.0981.
  init::trunc_normal_(w, 0, 1, 10, 100);
  EXPECT_GE(amin(w).item<double>(), 10);
  EXPECT_NEAR(moment(w, 1), 10.0980932, 0.002);
}

TEST(Init, Orthogonal) {
  for (const Shape& shape : {Shape{5, 8}, Shape{8, 5}, Shape{6, 6}, Shape{4, 2, 3}}) {
    const Tensor w = empty(shape, {.dtype = DType::f64});
    init::orthogonal_(w, 2);
    const Tensor matrix = w.flatten(1);
    const int64_t rows = matrix.size(0), columns = matrix.size(1);
    const Tensor product =
        rows <= columns ? matmul(matrix, matrix.t()) : matmul(matrix.t(), matrix);
    const Tensor identity = 4 * eye(std::min(rows, columns), {.dtype = DType::f64});
    EXPECT_TRUE(near(product, identity, 1e-12)) << to_string(shape);
  }
}

TEST(Init, GainsFollowPyTorch) {
  using init::Nonlinearity;
  EXPECT_EQ(init::calculate_gain(Nonlinearity::tanh), 5.0 / 3);
  EXPECT_EQ(init::calculate_gain(Nonlinearity::relu), std::sqrt(2.0));
  EXPECT_EQ(init::calculate_gain(Nonlinearity::leaky_relu, 0.2), std::sqrt(2 / 1.04));
  EXPECT_EQ(init::calculate_gain(Nonlinearity::selu), 0.75);
  EXPECT_EQ(init::calculate_gain(Nonlinearity::sigmoid), 1);
}

// A convolution with this weight gives its inputs back, those of each group that it has room for.
TEST(Init, DiracIsTheIdentity) {
  const Tensor x = randn({2, 6, 5, 4});
  EXPECT_TRUE(equal(conv2d(x, init::dirac_(empty({6, 6, 3, 3})), {}, {.padding = 1}), x));
  const Tensor grouped = init::dirac_(empty({4, 3, 3, 1}), 2);
  const Tensor y = conv2d(x, grouped, {}, {.padding = {1, 0}, .groups = 2});
  EXPECT_TRUE(equal(y, cat({x.narrow(1, 0, 2), x.narrow(1, 3, 2)}, 1)));
  const Tensor wide = init::dirac_(empty({6, 2, 1}));
  EXPECT_EQ(sum(wide).item<double>(), 2);
  EXPECT_EQ(error_of([] {
              init::dirac_(empty({4, 3}));
            }),
            "dirac_: the tensor must be (O, I, L), (O, I, H, W) or (O, I, D, H, W), got [4,3]");
  EXPECT_EQ(error_of([] {
              init::dirac_(empty({4, 3, 1}), 3);
            }),
            "dirac_: the outputs must divide into groups, got 4 by 3");
}

TEST(Init, SparseHasItsZerosInEachColumn) {
  const Tensor w = init::sparse_(empty({64, 50}), 0.3, 2);
  const Tensor zeros = sum(eq(w, 0), 0);
  EXPECT_TRUE(equal(zeros, full({50}, 20, {.dtype = i64})));  // ceil(0.3 x 64)
  EXPECT_FALSE(equal(eq(w, 0).select(1, 0), eq(w, 0).select(1, 1)));
  const double deviation = std::sqrt(mean(square(w)).item<double>() * 64 / 44);
  EXPECT_NEAR(deviation, 2, 0.12);  // 2,200 numbers: 4 standard errors
  EXPECT_EQ(error_of([] {
              init::sparse_(empty({4, 3}), 1.5);
            }),
            "sparse_: sparsity must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([] { init::sparse_(empty({4}), 0.5); }),
            "sparse_: the tensor must have 2 dimensions, got [4]");
}

TEST(Init, SameSeedSameValues) {
  Generator a(7), b(7);
  const Tensor x = empty({20, 10}), y = empty({20, 10});
  init::kaiming_normal_(x, {}, &a);
  init::kaiming_normal_(y, {}, &b);
  EXPECT_TRUE(near(x, y, 0));
}

TEST(Init, WritesParametersOutsideTheGraph) {
  Linear linear(3, 2);
  init::constant_(linear.weight, 0.5);
  EXPECT_TRUE(linear.weight.is_leaf());
  EXPECT_EQ(linear.weight.at<float>({1, 2}), 0.5f);
}

// bound, and how close 6000 uniform numbers must come to it.
void expect_uniform(const Tensor& x, double bound) {
  EXPECT_LE(amax(abs(x)).item<double>(), bound * (1 + 1e-6));
  EXPECT_GT(amax(abs(x)).item<double>(), 0.9 * bound);
}

TEST(Init, LayersStartAsPyTorchs) {
  manual_seed(4);
  const Linear linear(100, 60);
  expect_uniform(linear.weight, 0.1);
  expect_uniform(linear.bias, 0.1);
  const Conv2d conv(8, 60, 3, {.groups = 2});
  expect_uniform(conv.weight, 1 / 6.0);
  expect_uniform(conv.bias, 1 / 6.0);
  const LSTM lstm(10, 25);
  for (const Tensor& parameter : lstm.parameters()) expect_uniform(parameter, 0.2);
  const Embedding embedding(200, 50, {.padding_idx = 3});
  EXPECT_NEAR(moment(embedding.weight, 2), 1, 0.1);
  EXPECT_EQ(sum(abs(embedding.weight[3])).item<double>(), 0);
  const MultiheadAttention attention(64, 4);
  expect_uniform(attention.in_proj_weight, std::sqrt(6.0 / (64 + 192)));
  EXPECT_EQ(sum(abs(attention.in_proj_bias)).item<double>(), 0);
  EXPECT_EQ(sum(abs(attention.out_proj.bias)).item<double>(), 0);
  const BatchNorm2d norm(5);
  EXPECT_EQ(mean(norm.weight).item<double>(), 1);
  EXPECT_EQ(sum(abs(norm.bias)).item<double>(), 0);
}

TEST(Init, ALinearWithoutInputsHasABiasOfZeros) {
  full({7}, 123.0);  // its memory is the next one's
  const Linear linear(0, 7);
  EXPECT_EQ(linear.bias.to_vector<double>(), std::vector<double>(7, 0.0));
  EXPECT_EQ(linear(zeros({2, 0})).shape(), (Shape{2, 7}));
}

TEST(Init, Refuses) {
  EXPECT_EQ(error_of([] { init::xavier_uniform_(empty({3})); }),
            "xavier_uniform_: fans need a tensor of 2 dimensions or more, got [3]");
  EXPECT_EQ(error_of([] { init::trunc_normal_(empty({3}), 0, 1, 2, 1); }),
            "trunc_normal_: a must be below b, got 2 and 1");
  EXPECT_EQ(error_of([] { init::normal_(empty({3}), 0, -1); }),
            "normal_: std must not be negative, got -1");
}

}  // namespace
}  // namespace aorta::nn
