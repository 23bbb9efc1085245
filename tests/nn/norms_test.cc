// Normalisation beyond the fixtures: groups of statistics, options, averaged weights.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/names.h>

#include <cmath>

namespace aorta::nn {
namespace {

TEST(BatchNorm, GroupsOfStatisticsAreCallsOfTheirOwn) {
  BatchNorm2d apart(3);
  BatchNorm2d together = clone(apart);
  set_statistic_groups(together, 2);
  const Tensor x = randn({6, 3, 4, 4}).requires_grad_(), g = randn({6, 3, 4, 4});
  const Tensor y = together(x);
  y.backward(g);
  const Tensor gradient = x.grad();
  x.set_grad({});
  const Tensor wanted = cat({apart(x.narrow(0, 0, 3)), apart(x.narrow(0, 3, 3))});
  wanted.backward(g);
  EXPECT_TRUE(near(y, wanted, 1e-6));
  EXPECT_TRUE(near(gradient, x.grad(), 1e-5));
  EXPECT_TRUE(near(together.weight.grad(), apart.weight.grad(), 1e-5));
  EXPECT_TRUE(near(together.running_mean, apart.running_mean, 1e-6));
  EXPECT_TRUE(near(together.running_var, apart.running_var, 1e-6));
  EXPECT_EQ(together.num_batches_tracked.item<int64_t>(), 2);
}

// As one whose bias is 0, which trains its weight alone.
template <class M>
void expect_without_bias(const M& without, const M& with, const Tensor& x) {
  without.weight.detach().fill_(1.5);
  with.weight.detach().fill_(1.5);
  EXPECT_FALSE(without.bias.defined());
  EXPECT_EQ(names_of(without.named_parameters()), (Names{"weight"}));
  EXPECT_NE(without.extra_repr().find("affine=True, bias=False"), std::string::npos);
  EXPECT_NE(with.extra_repr().find("affine=True, bias=True"), std::string::npos);
  const Tensor y = without(x), wanted = with(x);
  EXPECT_TRUE(near(y, wanted, 1e-6)) << without.type_name();
  sum(y * x).backward();
  sum(wanted * x).backward();
  EXPECT_TRUE(near(without.weight.grad(), with.weight.grad(), 1e-6)) << without.type_name();
}

TEST(Norms, WithoutBias) {
  const Tensor x = randn({3, 4, 5, 2});
  using Batch = BatchNormOptions;
  expect_without_bias(BatchNorm2d(4, {.bias = false}), BatchNorm2d(4), x);
  expect_without_bias(BatchNorm2d(4, {.bias = false, .relu = true}),
                      BatchNorm2d(4, Batch{.relu = true}), x);
  expect_without_bias(InstanceNorm2d(4, {.affine = true, .bias = false}),
                      InstanceNorm2d(4, {.affine = true}), x);
  expect_without_bias(GroupNorm(2, 4, {.bias = false}), GroupNorm(2, 4), x);
  expect_without_bias(LayerNorm(2, {.bias = false}), LayerNorm(2), x);
}

TEST(BatchNorm, StatisticsOfAveragedWeights) {
  struct Small : Module {
    Linear hidden{*this, "hidden", 4, 3};
    BatchNorm1d norm{*this, "norm", 3};
    Dropout drop{*this, "drop", 0.5};
    Tensor forward(const Tensor& x) const override { return drop(norm(hidden(x))); }
  };
  Small net;
  net.to(DType::f64);
  const Tensor x = randn({12, 4}, {.dtype = DType::f64});
  for (int i = 0; i < 3; ++i) net(x);  // what shall be forgotten
  net.eval();
  net.norm.statistic_groups = 2;
  const auto expect_averages = [&] {
    std::vector<double> mean(3), variance(3);
    for (const Tensor& batch : tensor_split(x, 3)) {
      const Tensor y = net.hidden(batch);
      for (int64_t c = 0; c < 3; ++c) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < 4; ++i) sum += y.at<double>({i, c});
        for (int64_t i = 0; i < 4; ++i) squares += std::pow(y.at<double>({i, c}) - sum / 4, 2);
        mean[static_cast<size_t>(c)] += sum / 4 / 3;
        variance[static_cast<size_t>(c)] += squares / 3 / 3;
      }
    }
    EXPECT_TRUE(near(net.norm.running_mean, tensor(mean, {.dtype = DType::f64}), 1e-12));
    EXPECT_TRUE(near(net.norm.running_var, tensor(variance, {.dtype = DType::f64}), 1e-12));
    EXPECT_EQ(net.norm.num_batches_tracked.item<int64_t>(), 3);
    EXPECT_EQ(net.norm.options.momentum, 0.1);
    EXPECT_EQ(net.norm.statistic_groups, 2);
    EXPECT_FALSE(net.is_training() || net.norm.is_training());
  };
  update_bn(net, tensor_split(x, 3));
  expect_averages();
  EXPECT_FALSE(net.norm.running_mean.requires_grad());
  net.norm.reset_running_stats();
  EXPECT_EQ(net.norm.running_var.to_vector<double>(), std::vector<double>(3, 1.0));
  EXPECT_EQ(net.norm.num_batches_tracked.item<int64_t>(), 0);
  std::vector<data::Batch> batches;  // as a loader gives them
  for (const Tensor& batch : tensor_split(x, 3))
    batches.push_back(data::Batch({{"image", batch}, {"label", ones({4})}}));
  update_bn(net, batches);
  expect_averages();
  // After an error all is as it was, but for the statistics.
  EXPECT_NE(error_of([&] { update_bn(net, std::vector{ones({2, 5})}); }), "");
  EXPECT_EQ(net.norm.options.momentum, 0.1);
  EXPECT_FALSE(net.norm.is_training());
  // A net without parameters has statistics, too.
  BatchNorm1d plain(2, {.affine = false});
  update_bn(plain, std::vector{tensor({{1.0, 2.0}, {3.0, 6.0}}, {.dtype = f32})});
  EXPECT_EQ(plain.running_mean.to_vector<float>(), (std::vector<float>{2, 4}));
  // Without statistics there is nothing to call for.
  Sequential none{Linear(4, 3), BatchNorm1d(3, {.track_running_stats = false})};
  none[1].eval();
  update_bn(none, [] { FAIL(); });
  EXPECT_FALSE(none[1].is_training());
}

TEST(BatchNorm, ACallThatIsRefusedDoesNotCount) {
  BatchNorm1d average(2, {.momentum = {}});
  EXPECT_NE(error_of([&] { average(ones({3, 5})); }), "");
  EXPECT_NE(error_of([&] { average(ones({1, 2})); }), "");
  EXPECT_EQ(average.num_batches_tracked.item<int64_t>(), 0);
  average(tensor({{1.0, 2.0}, {3.0, 6.0}}, {.dtype = f32}));
  average(tensor({{3.0, 2.0}, {5.0, 6.0}}, {.dtype = f32}));
  EXPECT_EQ(average.num_batches_tracked.item<int64_t>(), 2);
  EXPECT_EQ(average.running_mean.to_vector<float>(), (std::vector<float>{3, 4}));
  // Groups are the training's: in evaluation nothing is counted.
  average.statistic_groups = 2;
  EXPECT_EQ(error_of([&] {
              average(ones({4, 2}));
            }),
            "BatchNorm1d: statistic_groups need a momentum, got 2");
  average.eval();
  EXPECT_EQ(average(ones({4, 2})).shape(), (Shape{4, 2}));
}

}  // namespace
}  // namespace aorta::nn
