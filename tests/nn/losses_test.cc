// Every loss module as PyTorch's, and Dice and focal by their definitions.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/tests/nn/fixture.h>

namespace aorta::nn {
namespace {

using Tensors = std::vector<Tensor>;
using Call = std::function<Tensor(const Tensors&)>;

struct Case {
  std::string name;
  Call call;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

template <class L>
Call pair(L loss) {
  return [loss](const Tensors& in) { return loss(in.at(0), in.at(1)); };
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& [suffix, r] :
       {std::pair{"none", Reduction::none}, std::pair{"mean", Reduction::mean},
        std::pair{"sum", Reduction::sum}}) {
    const auto add = [&](const std::string& name, Call call) {
      cases.push_back({name + "_" + suffix, std::move(call)});
    };
    const Reduction reduction = r;
    add("mse", pair(MSELoss(r)));
    add("l1", pair(L1Loss(r)));
    add("smooth_l1", pair(SmoothL1Loss(r, 0.7)));
    add("huber", pair(HuberLoss(r, 0.7)));
    add("bce", pair(BCELoss({.reduction = r})));
    add("bce_weight", [reduction](const Tensors& in) {
      return BCELoss({.weight = in.at(2), .reduction = reduction})(in.at(0), in.at(1));
    });
    add("bce_logits", pair(BCEWithLogitsLoss({.reduction = r})));
    add("bce_logits_weights", [reduction](const Tensors& in) {
      const BCEWithLogitsLoss loss(
          {.weight = in.at(2), .reduction = reduction, .pos_weight = in.at(3)});
      return loss(in.at(0), in.at(1));
    });
    add("cross_entropy", pair(CrossEntropyLoss({.reduction = r})));
    add("cross_entropy_all", [reduction](const Tensors& in) {
      const CrossEntropyLoss loss(
          {.weight = in.at(2), .ignore_index = 3, .reduction = reduction, .label_smoothing = 0.1});
      return loss(in.at(0), in.at(1));
    });
    add("cross_entropy_probabilities", pair(CrossEntropyLoss({.reduction = r})));
    add("nll", [reduction](const Tensors& in) {
      return NLLLoss({.weight = in.at(2), .reduction = reduction})(in.at(0), in.at(1));
    });
    add("kl_div", pair(KLDivLoss(r)));
    add("cosine_embedding", [reduction](const Tensors& in) {
      return CosineEmbeddingLoss(0.2, reduction)(in.at(0), in.at(1), in.at(2));
    });
    add("focal", pair(FocalLoss({.reduction = r})));
    add("dice", pair(DiceLoss({.reduction = r})));
  }
  cases.push_back({"kl_div_batchmean", pair(KLDivLoss(Reduction::batchmean, true))});
  return cases;
}

const Fixture& fixtures() {
  static const Fixture all = read_fixture("losses");
  return all;
}

class Losses : public testing::TestWithParam<Case> {};

TEST_P(Losses, AgreesWithPyTorch) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  Tensors inputs = numbered(fixture, "in");
  inputs[0].requires_grad_();
  const Tensor loss = GetParam().call(inputs);
  EXPECT_TRUE(near(loss, fixture.at("out"), 1e-12));
  sum(loss).backward();
  EXPECT_TRUE(near(inputs[0].grad(), fixture.at("din0"), 1e-12));
}

TEST_P(Losses, GradientsAgreeWithFiniteDifferences) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  Tensors inputs = numbered(fixture, "in");
  inputs[0].requires_grad_();
  EXPECT_GRADIENTS([&](const Tensor&) { return GetParam().call(inputs); }, Tensors{inputs[0]});
}

INSTANTIATE_TEST_SUITE_P(All, Losses, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(LossFixtures, HaveACaseEach) {
  std::set<std::string> names;
  for (const Case& one : all_cases()) names.insert(one.name);
  for (const auto& [key, value] : fixtures()) {
    EXPECT_TRUE(names.contains(key.substr(0, key.find('/')))) << key;
  }
}

TEST(Dice, TwoEmptyMasksAgree) {
  const Tensor logits = full({2, 1, 4, 4}, -1000.0), target = zeros({2, 1, 4, 4});
  EXPECT_EQ(dice_loss(logits, target).item<double>(), 0);
}

}  // namespace
}  // namespace aorta::nn
