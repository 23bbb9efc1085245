#include <aorta/tests/nn/loss_cases.h>

namespace aorta::nn {
namespace {

// Runs L(arguments...).
template <class L, class... Arguments>
LossCall call_of(Tensor (*run)(const L&, const Tensors&), const Arguments&... arguments) {
  const auto wrap = [run](const L& loss) -> RunLoss {
    return [=](const Tensors& in) { return run(loss, in); };
  };
  const auto make = [wrap](const Arguments&... given) { return wrap(L(given...)); };
  LossCall call{make(arguments...), short_name(typeid(L)), option_mutants(make, arguments...)};
  for (auto& mutant : shorter_mutants<L>(wrap, arguments...)) call.mutants.push_back(mutant);
  return call;
}

template <class L, class... Arguments>
LossCall pair(const Arguments&... arguments) {
  return call_of<L>([](const L& loss, const Tensors& in) { return loss(in.at(0), in.at(1)); },
                    arguments...);
}

template <class L, class... Arguments>
LossCall triple(const Arguments&... arguments) {
  return call_of<L>(
      [](const L& loss, const Tensors& in) { return loss(in.at(0), in.at(1), in.at(2)); },
      arguments...);
}

// With the inputs from the third on as weights.
template <class L, class Options, class... Weights>
LossCall weighted(const Options& options, Weights... weights) {
  const auto make = [=](const auto& change) -> RunLoss {
    return [=](const Tensors& in) {
      Options given = options;
      size_t next = 2;
      ((given.*weights = in.at(next++)), ...);
      change(given);
      return L(given)(in.at(0), in.at(1));
    };
  };
  LossCall call{make([](Options&) {}), short_name(typeid(L)), {}};
  const std::vector<std::string> names = field_names(short_name(typeid(Options)));
  size_t next = 0;
  const auto without = [&](auto field) {
    const RunLoss run = make([=](Options& o) { o.*field = Options{}.*field; });
    call.mutants.push_back({names.at(next++), [=] { return run; }});
  };
  std::apply([&](auto... fields) { (without(fields), ...); }, fields_of<Options>);
  return call;
}

std::vector<LossCase> margin_cases() {
  std::vector<LossCase> cases;
  for (const auto& [suffix, r] :
       {std::pair{"none", Reduction::none}, std::pair{"mean", Reduction::mean},
        std::pair{"sum", Reduction::sum}}) {
    const auto add = [&](const std::string& name, LossCall call) {
      cases.push_back({name + "_" + suffix, std::move(call)});
    };
    add("hinge_embedding", pair<HingeEmbeddingLoss>(0.7, r));
    add("margin_ranking", triple<MarginRankingLoss>(0.3, r));
    add("soft_margin", pair<SoftMarginLoss>(r));
    add("triplet_margin", triple<TripletMarginLoss>(TripletMarginOptions{.reduction = r}));
    add("triplet_margin_swap",
        triple<TripletMarginLoss>(
            TripletMarginOptions{.margin = 2, .p = 3, .eps = 1e-3, .swap = true, .reduction = r}));
    add("multi_margin", pair<MultiMarginLoss>(MultiMarginOptions{.reduction = r}));
    add("multi_margin_square",
        weighted<MultiMarginLoss>(MultiMarginOptions{.p = 2, .margin = 0.5, .reduction = r},
                                  &MultiMarginOptions::weight));
    add("multilabel_margin", pair<MultiLabelMarginLoss>(r));
    add("multilabel_soft_margin",
        weighted<MultiLabelSoftMarginLoss>(MultiLabelSoftMarginOptions{.reduction = r},
                                           &MultiLabelSoftMarginOptions::weight));
    add("poisson_nll", pair<PoissonNLLLoss>(PoissonNllOptions{.full = true, .reduction = r}));
    add("poisson_nll_rate",
        pair<PoissonNLLLoss>(PoissonNllOptions{.log_input = false, .eps = 1e-3, .reduction = r}));
    add("gaussian_nll", triple<GaussianNLLLoss>(GaussianNllOptions{.full = true, .reduction = r}));
    add("gaussian_nll_one",
        triple<GaussianNLLLoss>(GaussianNllOptions{.eps = 0.3, .reduction = r}));
    add("gaussian_nll_fewer", triple<GaussianNLLLoss>(GaussianNllOptions{.reduction = r}));
  }
  cases.push_back({"multi_margin_unbatched", pair<MultiMarginLoss>()});
  cases.push_back({"multilabel_margin_unbatched", pair<MultiLabelMarginLoss>()});
  cases.push_back({"triplet_margin_unbatched", triple<TripletMarginLoss>()});
  const TripletMarginWithDistanceOptions options{.margin = 0.8, .reduction = Reduction::sum};
  cases.push_back({"triplet_margin_with_distance", triple<TripletMarginWithDistanceLoss>(options)});
  TripletMarginWithDistanceOptions by_angle = options;
  by_angle.distance_function = [](const Tensor& a, const Tensor& b) {
    return 1 - cosine_similarity(a, b);
  };
  by_angle.swap = true;
  cases.push_back(
      {"triplet_margin_with_distance_cosine", triple<TripletMarginWithDistanceLoss>(by_angle)});
  for (const double p : {1.0, 2.0, 3.0})
    cases.push_back(
        {"pairwise_distance_" + std::to_string(static_cast<int>(p)), pair<PairwiseDistance>(p)});
  cases.push_back({"pairwise_distance_inf", pair<PairwiseDistance>(INFINITY)});
  cases.push_back({"pairwise_distance_unbatched", pair<PairwiseDistance>(2, 0.1, true)});
  cases.push_back({"cosine_similarity", pair<CosineSimilarity>()});
  cases.push_back({"cosine_similarity_last", pair<CosineSimilarity>(-1)});
  return cases;
}

}  // namespace

std::vector<LossCase> loss_cases() {
  std::vector<LossCase> cases;
  for (const auto& [suffix, r] :
       {std::pair{"none", Reduction::none}, std::pair{"mean", Reduction::mean},
        std::pair{"sum", Reduction::sum}}) {
    const auto add = [&](const std::string& name, LossCall call) {
      cases.push_back({name + "_" + suffix, std::move(call)});
    };
    add("mse", pair<MSELoss>(r));
    add("l1", pair<L1Loss>(r));
    add("smooth_l1", pair<SmoothL1Loss>(r, 0.7));
    add("huber", pair<HuberLoss>(r, 0.7));
    add("bce", pair<BCELoss>(BceOptions{.reduction = r}));
    add("bce_weight", weighted<BCELoss>(BceOptions{.reduction = r}, &BceOptions::weight));
    add("bce_logits", pair<BCEWithLogitsLoss>(BceWithLogitsOptions{.reduction = r}));
    add("bce_logits_weights", weighted<BCEWithLogitsLoss>(BceWithLogitsOptions{.reduction = r},
                                                          &BceWithLogitsOptions::weight,
                                                          &BceWithLogitsOptions::pos_weight));
    add("cross_entropy", pair<CrossEntropyLoss>(CrossEntropyOptions{.reduction = r}));
    add("cross_entropy_all",
        weighted<CrossEntropyLoss>(
            CrossEntropyOptions{.ignore_index = 3, .reduction = r, .label_smoothing = 0.1},
            &CrossEntropyOptions::weight));
    add("cross_entropy_probabilities", pair<CrossEntropyLoss>(CrossEntropyOptions{.reduction = r}));
    add("nll", weighted<NLLLoss>(NllLossOptions{.reduction = r}, &NllLossOptions::weight));
    add("kl_div", pair<KLDivLoss>(r));
    add("cosine_embedding", triple<CosineEmbeddingLoss>(0.2, r));
    add("focal", pair<FocalLoss>(FocalOptions{.reduction = r}));
    add("dice", pair<DiceLoss>(DiceOptions{.reduction = r}));
  }
  cases.push_back({"focal_options", pair<FocalLoss>(FocalOptions{.alpha = 0.6, .gamma = 3})});
  cases.push_back({"dice_smooth", pair<DiceLoss>(DiceOptions{.smooth = 3})});
  cases.push_back({"cosine_similarity_first", pair<CosineSimilarity>(0)});
  cases.push_back({"nll_ignored", pair<NLLLoss>(NllLossOptions{.ignore_index = 3})});
  cases.push_back({"kl_div_batchmean", pair<KLDivLoss>(Reduction::batchmean, true)});
  const auto margins = margin_cases();
  cases.insert(cases.end(), margins.begin(), margins.end());
  return cases;
}

const Fixture& loss_fixtures() {
  static const Fixture all = [] {
    Fixture both = read_fixture("losses");
    both.merge(read_fixture("loss_options"));
    return both;
  }();
  return all;
}

std::map<size_t, Tensor> loss_gradients(const Fixture& fixture) {
  std::map<size_t, Tensor> gradients;
  for (size_t i = 0; i < 3; ++i) {
    const auto found = fixture.find("din" + std::to_string(i));
    if (found != fixture.end()) gradients[i] = found->second;
  }
  return gradients;
}

std::string loss_difference(const std::string& name, const RunLoss& run, Device device) {
  const Fixture fixture = part(loss_fixtures(), name);
  Tensors inputs = numbered(fixture, "in");
  const std::map<size_t, Tensor> wanted = loss_gradients(fixture);
  for (Tensor& input : inputs) input = input.to(device);
  for (const auto& [i, gradient] : wanted) inputs[i] = inputs[i].detach().requires_grad_();
  std::string text;
  const auto compare = [&](const Tensor& got, const Tensor& right, const std::string& what) {
    const auto result = near(got, right, 1e-12);
    if (!result) text += what + ": " + result.message() + "\n";
  };
  const Tensor loss = run(inputs);
  if (loss.device() != device) text += "the loss is on another device\n";
  compare(loss, fixture.at("out"), "loss");
  sum(loss).backward();
  for (const auto& [i, gradient] : wanted) {
    // A count of 0 has PyTorch's gradient of Stirling's formula, which is left out there.
    const Tensor is_nan = isnan(gradient), got = inputs[i].grad();
    EXPECT_TRUE(name.starts_with("poisson_nll") || !any(is_nan).item<bool>());
    if (!got.defined()) return text + "no gradient";
    compare(where(is_nan, 0, got.cpu()), where(is_nan, 0, gradient),
            "gradient " + std::to_string(i));
  }
  return text;
}

}  // namespace aorta::nn
