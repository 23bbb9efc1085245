// Training programs against the losses of the same ones in PyTorch.
#include <aorta/tests/programs/program.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace aorta::programs {
namespace {

struct Program {
  const char* name;
  Losses (*run)(DType dtype);
  // How far f32 may be from f64 within the steps, relative to the largest loss: about 25 times what
  // it is, for rounding grows as the program amplifies it.
  double f32_tolerance;
  // Steps that rounding leaves as they are. L-BFGS amplifies it: behind these, weights that are off
  // by their last bit lead PyTorch's own curve as far away.
  int sure_steps = kSteps;
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
    {"lbfgs", lbfgs, 4e-5, 13},
    {"char_gpt", char_gpt, 3e-6},
    {"example_vae", example_vae, 3e-6},
    {"example_dcgan", example_dcgan, 1e-5},
    {"word_model", word_model, 1e-6},
    {"style_transfer", style_transfer, 1e-5},
    {"super_resolution", super_resolution, 5e-7},
    {"vision_transformer", vision_transformer, 1e-5},
    {"graph_attention", graph_attention, 2e-6},
    {"ctc_digits", ctc_digits, 3e-6},
    {"time_series", time_series, 2e-4, 4},
    {"siamese", siamese, 4e-6},
    {"graph_convolution", graph_convolution, 1e-6},
    {"actor_critic", actor_critic, 6e-6},
    {"cart_pole", cart_pole, 3e-6},
    {"custom_layer", custom_layer, 6e-6},
    {"lenet5", lenet5, 2e-5},
    {"nielsen", nielsen, 5e-7},
    {"fine_tune", fine_tune, 7e-6},
};

// The losses in PyTorch, by name.
const std::map<std::string, Losses>& fixtures() {
  static const std::map<std::string, Losses> all = [] {
    std::map<std::string, Losses> losses;
    for (const char* file : {"losses.npz", "examples.npz"})
      for (const auto& [name, values] : load(std::string("tests/fixtures/programs/") + file))
        losses[name] = values.to_vector<double>();
    return losses;
  }();
  return all;
}

Losses wanted(const std::string& name) {
  const auto found = fixtures().find(name);
  if (found == fixtures().end()) {
    ADD_FAILURE() << "no losses of " << name;
    return {};
  }
  return found->second;
}

// The largest difference within the first `steps`, each relative to the loss of its step.
double step_difference(const Losses& got, const Losses& losses, int steps) {
  EXPECT_EQ(got.size(), losses.size());
  double worst = 0;
  for (size_t i = 0; i < static_cast<size_t>(steps); ++i) {
    const double off = std::abs(got.at(i) - losses[i]) / std::abs(losses[i]);
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
  }
  return worst;
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
  EXPECT_LT(step_difference(GetParam().run(DType::f64), losses, GetParam().sure_steps), 1e-10);
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

TEST(ProgramNames, AreThoseOfTheFixtures) {
  std::set<std::string> programs, names;
  for (const Program& one : kPrograms) programs.insert(one.name);
  for (const auto& [name, losses] : fixtures()) names.insert(name);
  EXPECT_EQ(programs, names);
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(kPrograms),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace aorta::programs
