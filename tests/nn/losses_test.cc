// Every loss module as PyTorch's, and Dice and focal by their definitions.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

#include <ostream>
#include <set>

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

// As PyTorch's do: their weights follow the module and are in its state.
TEST(LossModules, AreMembersLikeAnyLayer) {
  struct Task : Module {
    Linear net{*this, "net", 4, 3};
    CrossEntropyLoss cross{*this, "cross", {.weight = tensor({1.0, 2.0, 3.0})}};
    NLLLoss nll{*this, "nll", {.weight = ones({3})}};
    BCELoss bce{*this, "bce", {.weight = ones({3})}};
    BCEWithLogitsLoss logits{*this, "logits", {.pos_weight = ones({3})}};
    MSELoss mse{*this, "mse", Reduction::sum};
    L1Loss l1{*this, "l1"};
    SmoothL1Loss smooth{*this, "smooth", Reduction::mean, 0.5};
    HuberLoss huber{*this, "huber", Reduction::mean, 0.5};
    KLDivLoss divergence{*this, "divergence", Reduction::batchmean, true};
    DiceLoss dice{*this, "dice", {.smooth = 2}};
    FocalLoss focal{*this, "focal", {.gamma = 3}};
    CosineEmbeddingLoss cosine{*this, "cosine", 0.2};
  };
  Task task;
  std::vector<std::string> names;
  for (const auto& [name, value] : task.state_dict()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"net.weight", "net.bias", "cross.weight", "nll.weight",
                                             "bce.weight", "logits.pos_weight"}));
  EXPECT_EQ(task.named_children().size(), 13u);
  EXPECT_EQ(task.mse.reduction, Reduction::sum);
  EXPECT_EQ(task.dice.options.smooth, 2);
  EXPECT_EQ(task.cosine.margin, 0.2);
  task.to(DType::f64);
  EXPECT_EQ(task.cross.weight.dtype(), DType::f64);
  const Task other = clone(task);
  other.cross.weight.detach().fill_(1);
  EXPECT_EQ(task.cross.weight.at<double>({2}), 3);
  const Tensor x = randn({5, 4}, {.dtype = DType::f64}), classes = tensor({0, 1, 2, 2, 1});
  const Tensor wanted = cross_entropy(task.net(x), classes,
                                      {.weight = tensor({1.0, 2.0, 3.0}, {.dtype = DType::f64})});
  EXPECT_TRUE(near(task.cross(task.net(x), classes), wanted, 0));
  EXPECT_EQ(error_of([&] { task.mse(x, ones({2, 2})); }).substr(0, 5), "mse: ");
}

TEST(Dice, TwoEmptyMasksAgree) {
  const Tensor logits = full({2, 1, 4, 4}, -1000.0), target = zeros({2, 1, 4, 4});
  EXPECT_EQ(dice_loss(logits, target).item<double>(), 0);
}

}  // namespace
}  // namespace aorta::nn
