// Training programs against the losses of the same ones in PyTorch.
#include <aorta/tests/programs/program.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

namespace aorta::programs {
namespace {

struct Program {
  const char* name;
  Losses (*run)(DType dtype);
  // How far f32 may be from f64 within the steps, relative to the largest loss: about 25 times what
  // it is, for rounding grows as the program amplifies it.
  double f32_tolerance;
};

constexpr Program kPrograms[] = {
    {"gpt", gpt, 1e-5},
    {"lstm", lstm, 1e-6},
    {"gru", gru, 1e-6},
    {"text_cnn", text_cnn, 3e-6},
    {"vae", vae, 3e-6},
    {"dcgan", dcgan, 1e-5},
    {"resnet", resnet, 1e-3},
    {"vit", vit, 1e-4},
    {"autoencoder", autoencoder, 1e-6},
    {"reinforce", reinforce, 1e-4},
    {"lbfgs", lbfgs, 4e-5},
    {"char_gpt", char_gpt, 1e-5},
    {"example_vae", example_vae, 3e-6},
    {"example_dcgan", example_dcgan, 1e-5},
    {"word_model", word_model, 1e-6},
    {"style_transfer", style_transfer, 1e-5},
    {"super_resolution", super_resolution, 5e-7},
    {"vision_transformer", vision_transformer, 1e-5},
    {"graph_attention", graph_attention, 2e-6},
    {"ctc_digits", ctc_digits, 3e-6},
    {"time_series", time_series, 1e-5},
    {"siamese", siamese, 4e-6},
};

std::vector<double> wanted(const std::string& name) {
  for (const char* file : {"losses.npz", "examples.npz"})
    for (const auto& [key, losses] : load(std::string("tests/fixtures/programs/") + file))
      if (key == name) return losses.to_vector<double>();
  ADD_FAILURE() << "no losses of " << name;
  return {};
}

// The largest difference within the steps, relative to the largest loss.
double difference(const Losses& got, const Losses& losses) {
  EXPECT_EQ(got.size(), losses.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double off = std::abs(got.at(i) - losses[i]);
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
    largest = std::max(largest, std::abs(losses[i]));
  }
  return worst / largest;
}

class Programs : public testing::TestWithParam<Program> {};

TEST_P(Programs, TrainAsInPyTorch) {
  const Losses losses = wanted(GetParam().name);
  ASSERT_EQ(losses.size(), static_cast<size_t>(kSteps));
  EXPECT_GT(*std::max_element(losses.begin(), losses.end()) -
                *std::min_element(losses.begin(), losses.end()),
            1e-3);  // it does learn
  EXPECT_LT(difference(GetParam().run(DType::f64), losses), 1e-10);
}

TEST_P(Programs, TrainInF32AsInF64) {
  EXPECT_LT(difference(GetParam().run(DType::f32), wanted(GetParam().name)),
            GetParam().f32_tolerance);
}

// Both ways of its convolutions are as near to f64: the first layer's run by Winograd's algorithm.
TEST(ResNet, TrainsByEitherAlgorithm) {
  const bool before = winograd_enabled();
  std::vector<Losses> ways;
  for (const bool winograd : {false, true}) {
    set_winograd(winograd);
    ways.push_back(resnet(DType::f32));
    EXPECT_LT(difference(ways.back(), wanted("resnet")), 1e-3) << winograd;
  }
  set_winograd(before);
  EXPECT_NE(ways[0], ways[1]) << "the switch does nothing";
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(kPrograms),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace aorta::programs
