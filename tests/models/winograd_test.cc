// What Winograd's convolutions add to the error of a whole network's gradient.
#include <aorta/aorta.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

namespace aorta::models {
namespace {

struct SmallResNet : nn::Module {
  BasicBlock first{*this, "first", 256, 256}, second{*this, "second", 256, 256};
  Tensor forward(const Tensor& input) const override { return mean(second(first(input)), {2, 3}); }
};

std::vector<Tensor> gradients(nn::Module& net, const Tensor& input, const Tensor& target) {
  net.zero_grad();
  nn::cross_entropy(net(input), target).backward();
  std::vector<Tensor> result;
  for (const Tensor& parameter : net.parameters()) result.push_back(parameter.grad().clone());
  return result;
}

double relative_error(const std::vector<Tensor>& results, const std::vector<Tensor>& wanted) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    error += sum(square(results[i].to(f64) - wanted[i])).item<double>();
    norm += sum(square(wanted[i])).item<double>();
  }
  return std::sqrt(error / norm);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// A ReLU that f32 sets on the other side of zero than f64 makes any algorithm's error a thousand
// times as large, so one seed says nothing; the median says what the algorithm does.
TEST(Winograd, GradientsOfANetworkAreWithinTwiceTheDirectError) {
  const bool before = winograd_enabled();
  std::vector<double> errors[2];
  for (uint64_t seed = 0; seed < 7; ++seed) {
    manual_seed(seed);
    SmallResNet net;
    const Tensor input = relu(randn({12, 256, 8, 8})), target = randint(0, 256, {12});
    std::vector<Tensor> results[2];
    for (const bool winograd : {false, true}) {
      set_winograd(winograd);
      results[winograd] = gradients(net, input, target);
    }
    net.to(f64);
    const std::vector<Tensor> wanted = gradients(net, input.to(f64), target);
    for (int i = 0; i < 2; ++i) errors[i].push_back(relative_error(results[i], wanted));
  }
  set_winograd(before);
  EXPECT_LE(median(errors[0]), 2e-6);
  EXPECT_NE(median(errors[1]), median(errors[0])) << "the switch does nothing";
  EXPECT_LE(median(errors[1]), 2 * median(errors[0]));
}

// PyTorch's median over 20 seeds is 3.5e-6 (docs/accuracy.md); a ReLU on the other side only adds
// to a seed's error.
TEST(Winograd, GradientsOfResNet18AreWithinThriceTheErrorOfPyTorch) {
  ASSERT_TRUE(winograd_enabled());
  double least = 1;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    manual_seed(seed);
    const nn::AnyModule net = make("resnet18", {.num_classes = 10});
    const Tensor input = randn({16, 3, 32, 32}), target = randint(0, 10, {16});
    const std::vector<Tensor> result = gradients(*net, input, target);
    net->to(f64);
    least = std::min(least, relative_error(result, gradients(*net, input.to(f64), target)));
  }
  EXPECT_LE(least, 3 * 3.5e-6);
  EXPECT_GE(least, 1e-7);
}

}  // namespace
}  // namespace aorta::models
