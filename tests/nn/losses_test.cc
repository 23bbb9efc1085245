// Every loss module as PyTorch's, and Dice and focal by their definitions.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/tests/changes.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/mutants.h>
#include <aorta/tests/nn/loss_cases.h>
#include <aorta/tests/nn/undefined.h>

#include <cmath>
#include <numbers>
#include <set>

namespace aorta::nn {
namespace {

class Losses : public testing::TestWithParam<LossCase> {};

TEST_P(Losses, AgreesWithPyTorch) {
  EXPECT_EQ(loss_difference(GetParam().name, GetParam().call.run), "");
}

TEST_P(Losses, GradientsAgreeWithFiniteDifferences) {
  const Fixture fixture = part(loss_fixtures(), GetParam().name);
  Tensors inputs = numbered(fixture, "in"), moved;
  for (const auto& [i, gradient] : loss_gradients(fixture)) {
    // A variance below eps counts as eps, and its gradient as if it didn't, as PyTorch's.
    const bool is_raised = i == 2 && GetParam().name.starts_with("gaussian_nll_one");
    if (!is_raised) moved.push_back(inputs[i].requires_grad_());
  }
  EXPECT_GRADIENTS([&](const Tensors&) { return GetParam().call(inputs); }, moved);
  // The second derivatives of pieces that are straight are 0.
  EXPECT_SECOND_GRADIENTS([&](const Tensors&) { return GetParam().call(inputs); }, moved,
                          {.allow_vacuous = true});
}

TEST_P(Losses, NameTheInputThatIsUndefined) {
  expect_operands_named(declared_everywhere(), "",
                        numbered(part(loss_fixtures(), GetParam().name), "in"),
                        [&](const Tensors& in) { GetParam().call(in); });
}

INSTANTIATE_TEST_SUITE_P(All, Losses, testing::ValuesIn(loss_cases()),
                         [](const auto& test) { return test.param.name; });

template <class L, class... Inputs>
void moved_away(const Inputs&... inputs) {
  L loss;
  const Taken taken(loss);
  EXPECT_EQ(error_of([&] { loss(inputs...); }),
            loss.type_name() + ": the module must be there, got one that was moved away");
}

TEST(LossModules, SayThatTheyWereMovedAway) {
  const Tensor x = rand({2, 3}), y = rand({2, 3}), ones_of_rows = ones({2});
  moved_away<MSELoss>(x, y);
  moved_away<L1Loss>(x, y);
  moved_away<SmoothL1Loss>(x, y);
  moved_away<HuberLoss>(x, y);
  moved_away<KLDivLoss>(x, y);
  moved_away<BCELoss>(x, y);
  moved_away<BCEWithLogitsLoss>(x, y);
  moved_away<CrossEntropyLoss>(x, y);
  moved_away<NLLLoss>(x, y);
  moved_away<DiceLoss>(x, y);
  moved_away<FocalLoss>(x, y);
  moved_away<HingeEmbeddingLoss>(x, y);
  moved_away<SoftMarginLoss>(x, y);
  moved_away<MultiMarginLoss>(x, y);
  moved_away<MultiLabelMarginLoss>(x, y);
  moved_away<MultiLabelSoftMarginLoss>(x, y);
  moved_away<PoissonNLLLoss>(x, y);
  moved_away<CosineEmbeddingLoss>(x, y, ones_of_rows);
  moved_away<MarginRankingLoss>(x, y, ones_of_rows);
  moved_away<TripletMarginLoss>(x, y, y);
  moved_away<TripletMarginWithDistanceLoss>(x, y, y);
  moved_away<GaussianNLLLoss>(x, y, y);
  moved_away<CTCLoss>(rand({3, 2, 4}), ones({2, 1}, {.dtype = i64}), tensor({3, 3}),
                      tensor({1, 1}));
}

TEST(LossMutants, ThePageCountsThem) {
  static const std::vector<mutants::Exception> untold = {};
  std::map<std::string, mutants::Count> families;
  std::map<std::string, bool> caught;
  for (const LossCase& one : loss_cases()) {
    ++families["losses"].rows;
    for (const auto& mutant : one.call.mutants) {
      bool& found = caught[one.call.loss + " ignores " + mutant.ignored];
      if (found) continue;
      try {
        found = !loss_difference(one.name, mutant.make()).empty();
      } catch (const std::exception&) {
        found = true;
      }
    }
    const Tensors inputs = numbered(part(loss_fixtures(), one.name), "in");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].numel() < 2) continue;
      const RunLoss alike = [&](const Tensors& in) {
        Tensors others = in;
        others[i] = mutants::alike(in[i]);
        return one.call(others);
      };
      bool& found = caught[one.call.loss + " of input " + std::to_string(i) + " alike"];
      try {
        found = found || !loss_difference(one.name, alike).empty();
      } catch (const std::exception&) {
        found = true;
      }
    }
  }
  for (const auto& [mutant, is_caught] : caught) families["losses"].add(mutant, is_caught, untold);
  mutants::expect_counts("losses", families, untold);
}

TEST(LossFixtures, HaveACaseEach) {
  std::set<std::string> names;
  for (const LossCase& one : loss_cases()) names.insert(one.name);
  for (const auto& [key, value] : loss_fixtures()) {
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
    HingeEmbeddingLoss hinge{*this, "hinge", 2};
    MarginRankingLoss ranking{*this, "ranking", 0.5, Reduction::sum};
    SoftMarginLoss soft{*this, "soft"};
    TripletMarginLoss triplet{*this, "triplet", {.swap = true}};
    MultiMarginLoss multi{*this, "multi", {.weight = ones({3})}};
    MultiLabelMarginLoss labels{*this, "labels"};
    MultiLabelSoftMarginLoss soft_labels{*this, "soft_labels", {.weight = ones({3})}};
    PoissonNLLLoss poisson{*this, "poisson", {.full = true}};
    GaussianNLLLoss gaussian{*this, "gaussian", {.eps = 1e-3}};
    PairwiseDistance distance{*this, "distance", 1};
    CosineSimilarity similarity{*this, "similarity", -1};
    TripletMarginWithDistanceLoss far{*this, "far", {.margin = 2}};
    CTCLoss ctc{*this, "ctc", {.blank = 1}};
  };
  Task task;
  std::vector<std::string> names;
  for (const auto& [name, value] : task.state_dict()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"net.weight", "net.bias", "cross.weight", "nll.weight",
                                             "bce.weight", "logits.pos_weight", "multi.weight",
                                             "soft_labels.weight"}));
  EXPECT_EQ(task.named_children().size(), 26u);
  EXPECT_EQ(task.hinge.margin, 2);
  EXPECT_TRUE(task.triplet.options.swap);
  EXPECT_EQ(task.similarity.dim, -1);
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

TEST(MarginLosses, Refuse) {
  const Tensor x = ones({2, 3}), y = tensor({0, 2});
  EXPECT_EQ(error_of([&] { hinge_embedding_loss(x, ones({3})); }),
            "hinge_embedding_loss: input and target must have one shape, got [2,3] and [3]");
  EXPECT_EQ(error_of([&] { soft_margin_loss(tensor({1}), ones({1})); }),
            "soft_margin_loss: input must be floating, got i64");
  EXPECT_EQ(error_of([&] { margin_ranking_loss(x, x, x, 0, Reduction::batchmean); }),
            "margin_ranking_loss: reduction must be none, mean or sum, got batchmean");
  EXPECT_EQ(error_of([&] { triplet_margin_loss(x, x, x, {.margin = 0}); }),
            "triplet_margin_loss: margin must be positive, got 0");
  EXPECT_EQ(error_of([&] {
              triplet_margin_with_distance_loss(
                  x, x, x, {.distance_function = [](const Tensor& a, const Tensor&) {
                    static int calls = 0;
                    return ++calls == 1 ? a : a.select(0, 0);
                  }});
            }),
            "triplet_margin_with_distance_loss: distances must have one shape, got [2,3] and [3]");
  EXPECT_EQ(error_of([&] { triplet_margin_with_distance_loss(x, x, x, {.margin = -1}); }),
            "triplet_margin_with_distance_loss: margin must be positive, got -1");
  EXPECT_EQ(error_of([&] { multi_margin_loss(x, y, {.p = 3}); }),
            "multi_margin_loss: p must be 1 or 2, got 3");
  EXPECT_EQ(error_of([&] { multi_margin_loss(x, x); }),
            "multi_margin_loss: target must be i64, got f32");
  EXPECT_EQ(error_of([&] { multi_margin_loss(x, tensor({1})); }),
            "multi_margin_loss: target must be (N), or () for (C), got [1] for [2,3]");
  EXPECT_EQ(error_of([&] { multi_margin_loss(x, y, {.weight = ones({2})}); }),
            "multi_margin_loss: weight must have a number for each class, got [2] for [2,3]");
  EXPECT_NE(error_of([&] { multi_margin_loss(x, tensor({0, 3})); }), kNoError);
  EXPECT_NE(error_of([&] {
              multilabel_margin_loss(x, tensor({{0, 3, -1}, {0, 1, 2}}));
            }),
            kNoError);
  EXPECT_EQ(error_of([&] {
              multilabel_margin_loss(ones({2, 0}), tensor({1}));
            }),
            "multilabel_margin_loss: input must have a class, got [2,0]");
  EXPECT_EQ(error_of([&] { gaussian_nll_loss(x, x, ones({3})); }),
            "gaussian_nll_loss: var must have the input's shape, or it without the last dimension "
            "or with 1 in it, got [3] for [2,3]");
  EXPECT_EQ(error_of([&] {
              gaussian_nll_loss(x, x, tensor({0.5, -1.5}));
            }),
            "gaussian_nll_loss: var must not be negative, got -1.5");
  EXPECT_EQ(error_of([&] { gaussian_nll_loss(x, x, -0.5); }),
            "gaussian_nll_loss: var must not be negative, got -0.5");
  EXPECT_EQ(error_of([&] { GaussianNLLLoss()(x, x, -0.5); }),
            "gaussian_nll_loss: var must not be negative, got -0.5");
  EXPECT_EQ(error_of([&] { pairwise_distance(ones({}), ones({})); }),
            "pairwise_distance: inputs must be (N, D) or (D), got []");
}

// A softened margin and counts stay finite where exp() of the whole doesn't.
TEST(MarginLosses, AreFiniteFarOut) {
  EXPECT_EQ(soft_margin_loss(tensor({-1000.0}), ones({1})).item<double>(), 1000);
  EXPECT_EQ(gaussian_nll_loss(ones({2}), ones({2}), zeros({2})).item<float>(),
            static_cast<float>(0.5 * std::log(1e-6f)));
  const Tensor vague = full({1}, std::numeric_limits<double>::infinity()).requires_grad_();
  const Tensor loss = gaussian_nll_loss(zeros({1}), ones({1}), vague);
  EXPECT_EQ(loss.item<float>(), std::numeric_limits<float>::infinity());
  loss.backward();
  EXPECT_EQ(vague.grad().item<float>(), 0);
}

// Nix and Weigend's formula, whether the variance is a number or a tensor.
TEST(MarginLosses, TakeAVarianceAsANumber) {
  const Tensor x = tensor({0.5, -1.0, 2.0}, {.dtype = f64}).requires_grad_(), y = zeros({3});
  const double squares = 0.25 + 1 + 4, wanted = (3 * std::log(0.3) + squares / 0.3) / 2;
  const Tensor loss = gaussian_nll_loss(x, y.to(f64), 0.3, {.reduction = Reduction::sum});
  EXPECT_NEAR(loss.item<double>(), wanted, 1e-13);
  loss.backward();
  EXPECT_NEAR(x.grad()[2].item<double>(), 2 / 0.3, 1e-13);
  const GaussianNLLLoss module({.full = true, .reduction = Reduction::sum});
  EXPECT_NEAR(module(x, y.to(f64), 0.3).item<double>(),
              wanted + 1.5 * std::log(2 * std::numbers::pi), 1e-12);
  EXPECT_EQ(gaussian_nll_loss(x.to(bf16), y.to(bf16), 0.3).dtype(), bf16);
}

// As all losses do, in a scope of half types.
TEST(MarginLosses, AreF32UnderAutocast) {
  const Tensor x = tensor({{0.1, 0.7, -1.3}, {2.3, -0.4, 0.9}}), y = x.flip({1});
  const Tensor signs = tensor({{1.0, -1.0, 1.0}, {-1.0, 1.0, -1.0}});
  const Tensor first = tensor({int64_t{0}, int64_t{2}}), several = tensor({{2, 0, -1}, {1, -1, 0}});
  using Loss = std::function<Tensor(const Tensor& x, const Tensor& y)>;
  const std::pair<const char*, Loss> losses[] = {
      {"hinge", [&](const Tensor& a, const Tensor&) { return hinge_embedding_loss(a, signs); }},
      {"ranking",
       [&](const Tensor& a, const Tensor& b) { return margin_ranking_loss(a, b, signs); }},
      {"soft", [&](const Tensor& a, const Tensor&) { return soft_margin_loss(a, signs); }},
      {"triplet", [&](const Tensor& a, const Tensor& b) { return triplet_margin_loss(a, a, b); }},
      {"multi", [&](const Tensor& a, const Tensor&) { return multi_margin_loss(a, first); }},
      {"label", [&](const Tensor& a, const Tensor&) { return multilabel_margin_loss(a, several); }},
      {"poisson", [&](const Tensor& a, const Tensor& b) { return poisson_nll_loss(a, b); }},
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor a = x.to(dtype), b = y.to(dtype);
    for (const auto& [name, loss] : losses) {
      const Tensor wanted = loss(a.to(f32), b.to(f32));
      const Autocast scope(dtype);
      const Tensor got = loss(a, b);
      EXPECT_EQ(got.dtype(), f32) << name;
      EXPECT_TRUE(near(got, wanted, 0)) << name;
    }
  }
  const Autocast scope(f16);
  EXPECT_NEAR(poisson_nll_loss(tensor({9.2}).to(f16), tensor({10000.0}).to(f16)).item<float>(),
              -82103.14, 0.01);  // a product beyond f16
}

// What a path of classes reads as, 0 being the blank.
std::vector<int64_t> reading_of(int64_t path, int64_t steps, int64_t classes) {
  std::vector<int64_t> read;
  int64_t before = 0;
  for (int64_t t = 0; t < steps; ++t, path /= classes) {
    const int64_t now = path % classes;
    if (now != 0 && now != before) read.push_back(now);
    before = now;
  }
  return read;
}

// F.cross_entropy(x.bfloat16(), p) of p in f32 is f32: nothing of the probabilities is lost.
TEST(CrossEntropy, OfProbabilitiesInAWiderDtype) {
  const Tensor x = tensor({{0.5, -1.0, 2.0}, {0.25, 1.5, -0.75}}, {.dtype = DType::bf16});
  const Tensor p = tensor({{0.1, 0.2, 0.7}, {0.3, 0.3, 0.4}}, {.dtype = DType::f32});
  const Tensor leaf = x.clone().requires_grad_(), wide = x.to(DType::f32).requires_grad_();
  const Tensor loss = cross_entropy(leaf, p), wanted = cross_entropy(wide, p);
  EXPECT_EQ(loss.dtype(), DType::f32);
  EXPECT_EQ(loss.item<float>(), wanted.item<float>());
  loss.backward();
  wanted.backward();
  EXPECT_EQ(leaf.grad().to_vector<float>(), wide.grad().to(DType::bf16).to_vector<float>());
}

// F.cross_entropy(x, torch.tensor([0, 0]), weight=torch.tensor([1, 2, inf])): what a class weighs
// that no target is (1 / 0, of none in a data set) is nothing to the gradient.
TEST(CrossEntropy, WeightsOfAbsentClassesDontCount) {
  const Tensor x =
      tensor({{0.1, 0.2, 0.3}, {0.4, -0.5, 0.6}}, {.dtype = DType::f64}).requires_grad_();
  const Tensor weight = tensor({1.0, 2.0, INFINITY}, {.dtype = DType::f64});
  cross_entropy(x, tensor({0, 0}), {.weight = weight}).backward();
  const std::vector<double> wanted = {-0.34969519732213633, 0.16611249676667367,
                                      0.18358270055546275,  -0.30973925122113677,
                                      0.07735424789301404,  0.23238500332812273};
  const std::vector<double> got = x.grad().to_vector<double>();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-15);
}

// Every path, one after another: no recursion.
TEST(CtcLoss, IsTheSumOverAllPaths) {
  constexpr int64_t kSteps = 5, kClasses = 3, kPaths = 243;
  manual_seed(2);
  const Tensor log_probs = log_softmax(randn({kSteps, kClasses}, {.dtype = DType::f64}), 1);
  const std::vector<std::vector<int64_t>> targets{{},        {1},          {2, 1},      {1, 1},
                                                  {2, 2, 2}, {1, 2, 1, 2}, {1, 1, 1, 1}};
  for (const auto& target : targets) {
    double sum_of_paths = 0;
    for (int64_t path = 0; path < kPaths; ++path) {
      if (reading_of(path, kSteps, kClasses) != target) continue;
      double log_of_path = 0;
      int64_t rest = path;
      for (int64_t t = 0; t < kSteps; ++t, rest /= kClasses)
        log_of_path += log_probs.at<double>({t, rest % kClasses});
      sum_of_paths += std::exp(log_of_path);
    }
    const Tensor classes = tensor(target);
    const double loss = CTCLoss({.reduction = Reduction::sum})(log_probs, classes, tensor(kSteps),
                                                               tensor(classes.numel()))
                            .item<double>();
    if (sum_of_paths == 0) {
      EXPECT_EQ(loss, INFINITY);
    } else {
      EXPECT_NEAR(loss, -std::log(sum_of_paths), 1e-12);
    }
  }
}

// The gradient by hand, and by the differentiable way that a second one needs.
TEST(CtcLoss, ImpossiblePathsHaveNoShareOfTheGradient) {
  const auto gradients = [](const Tensor& log_probs, const std::vector<int64_t>& target,
                            bool zero_infinity, const Tensor& wanted) {
    for (const bool graph : {false, true}) {
      const Tensor x = log_probs.detach().requires_grad_();
      const Tensor loss = CTCLoss({.reduction = Reduction::sum, .zero_infinity = zero_infinity})(
          x, tensor(target), tensor(x.size(0)), tensor(static_cast<int64_t>(target.size())));
      const Tensor got = autograd::grad({loss}, {x}, {}, {.create_graph = graph})[0];
      EXPECT_TRUE(allclose(got, wanted, {.atol = 1e-12, .equal_nan = true}))
          << graph << to_string(got);
    }
  };
  // Blank at the first step and 1 at the second, or 1 at both: 0.5 x 0.6 and 0.25 x 0.6 of 0.45.
  const Tensor never = log(tensor({{0.5, 0.25, 0.25}, {0.0, 0.6, 0.4}}, {.dtype = DType::f64}));
  gradients(never, {1}, false,
            tensor({{0.5 - 0.3 / 0.45, 0.25 - 0.15 / 0.45, 0.25}, {0.0, -0.4, 0.4}},
                   {.dtype = DType::f64}));
  // Two labels don't fit in a step.
  const Tensor even = full({1, 4}, -std::log(4.0), {.dtype = DType::f64});
  gradients(even, {1, 2}, false, full({1, 4}, std::nan(""), {.dtype = DType::f64}));
  gradients(even, {1, 2}, true, zeros({1, 4}, {.dtype = DType::f64}));
}

TEST(Dice, TwoEmptyMasksAgree) {
  const Tensor logits = full({2, 1, 4, 4}, -1000.0), target = zeros({2, 1, 4, 4});
  EXPECT_EQ(dice_loss(logits, target).item<double>(), 0);
}

}  // namespace
}  // namespace aorta::nn
