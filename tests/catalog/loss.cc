#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/loss.h>

#include <aorta/tests/catalog/rows.h>

#include <cmath>

namespace aorta::catalog {
namespace {

using Losses = Tensor (*)(const Tensor&, const Tensor&, Reduction);

// Zeros have any sign: what is added up has none.
constexpr Tolerance kLosses{2, 8, 4, 0, false};

Tensor half_to_one(const Shape& shape) { return abs(numbers(shape)) * 0.5 + 0.25; }
Tensors pairs_of_maps() { return {numbers({20, 1, 112, 113}), half_to_one({20, 1, 112, 113})}; }
Tensors large_chances() {
  const Tensor p = half_to_one({20, 1, 112, 113});
  return {p, 1 - p};
}

template <Losses f>
Row row_of(const char* op, std::vector<BadCall> bad) {
  return {.op = op,
          .tolerance = kLosses,
          .calls = {{"default",
                     [](const Tensors& x) -> Tensors { return {f(x[0], x[1], Reduction::mean)}; }},
                    {"none",
                     [](const Tensors& x) -> Tensors { return {f(x[0], x[1], Reduction::none)}; }},
                    {"sum",
                     [](const Tensors& x) -> Tensors { return {f(x[0], x[1], Reduction::sum)}; }}},
          .bad = std::move(bad),
          .also = {"fill_", "pointwise_loss", "to"},
          .large = pairs_of_maps,
          .autocasts = Autocasts::f32};
}

// With the other parameters at their defaults.
Tensor smooth_l1_of(const Tensor& x, const Tensor& t, Reduction r) {
  return smooth_l1_loss(x, t, r);
}
Tensor mse_of(const Tensor& x, const Tensor& t, Reduction r) { return mse_loss(x, t, r); }
Tensor l1_of(const Tensor& x, const Tensor& t, Reduction r) { return l1_loss(x, t, r); }
Tensor huber_of(const Tensor& x, const Tensor& t, Reduction r) { return huber_loss(x, t, r); }
Tensor kl_div_of(const Tensor& x, const Tensor& t, Reduction r) { return kl_div(x, t, r); }
Tensor bce_of(const Tensor& x, const Tensor& t, Reduction r) {
  return binary_cross_entropy(x, t, {.reduction = r});
}
Tensor bce_with_logits_of(const Tensor& x, const Tensor& t, Reduction r) {
  return binary_cross_entropy_with_logits(x, t, {.reduction = r});
}

Tensor weighted_mse(const Tensors& x, Reduction r) { return mse_loss(x[0], x[1], r, x[2]); }
Tensor weighted_l1(const Tensors& x, Reduction r) { return l1_loss(x[0], x[1], r, x[2]); }
Tensor weighted_huber(const Tensors& x, Reduction r) {
  return huber_loss(x[0], x[1], r, 1.5, x[2]);
}

// With weights they are composed.
template <Tensor (*f)(const Tensors&, Reduction)>
void add_weighted(Row& row) {
  row.calls.push_back(
      {"weight", [](const Tensors& x) -> Tensors { return {f(x, Reduction::mean)}; }});
  row.calls.push_back(
      {"weight_none", [](const Tensors& x) -> Tensors { return {f(x, Reduction::none)}; }});
  row.calls.push_back(
      {"weight_sum", [](const Tensors& x) -> Tensors { return {f(x, Reduction::sum)}; }});
  row.also.insert(row.also.end(), {"mul", "sum"});
}

Row mse() {
  Row row = row_of<mse_of>(
      "mse_loss",
      {{[] {
          mse_loss(ones({2, 3}), ones({2}));
        },
        "mse_loss: shapes must broadcast, got [2,3] and [2]"},
       {[] { mse_loss(ones({2}), ones({2}), Reduction::batchmean); },
        "mse_loss: reduction must be none, mean or sum, got batchmean"},
       {[] { mse_loss(ones({2}, {.dtype = i64}), ones({2}, {.dtype = boolean})); },
        "mse_loss: dtype must be floating, got i64"},
       {[] {
          mse_loss(ones({2, 3}), ones({3}), Reduction::sum, ones({3}));
        },
        "mse_loss: weight must have the input's shape, got [3] for [2,3]"},
       {[] { mse_loss(ones({2}), ones({2}), Reduction::none, ones({2}, {.dtype = c64})); },
        "mse_loss: dtype must be floating, got c64"},
       {[] { mse_loss(ones({2}), ones({2}), Reduction::batchmean, ones({2})); },
        "mse_loss: reduction must be none, mean or sum, got batchmean"}});
  row.functions = {"pointwise_loss_backward"};
  add_weighted<weighted_mse>(row);
  row.also.push_back("div");
  return row;
}

Row l1() {
  Row row = row_of<l1_of>("l1_loss",
                          {{[] {
                              l1_loss(ones({2, 3}), ones({2}));
                            },
                            "l1_loss: shapes must broadcast, got [2,3] and [2]"},
                           {[] {
                              l1_loss(ones({2}), ones({2, 2}), Reduction::mean, ones({2, 2}));
                            },
                            "l1_loss: weight must have the input's shape, got [2,2] for [2]"}});
  add_weighted<weighted_l1>(row);
  row.also.push_back("div");
  return row;
}

Row smooth_l1() {
  Row row = row_of<smooth_l1_of>(
      "smooth_l1_loss", {{[] { smooth_l1_loss(ones({2}), ones({2}), Reduction::mean, -1); },
                          "smooth_l1_loss: beta can't be negative, got -1"}});
  row.calls.push_back({"parameter", [](const Tensors& x) -> Tensors {
                         return {smooth_l1_loss(x[0], x[1], Reduction::mean, 1.5)};
                       }});
  row.calls.push_back({"no_beta", [](const Tensors& x) -> Tensors {
                         return {smooth_l1_loss(x[0], x[1], Reduction::mean, 0)};
                       }});
  return row;
}

Row huber() {
  Row row = row_of<huber_of>(
      "huber_loss", {{[] { huber_loss(ones({2}), ones({2}), Reduction::mean, 0); },
                      "huber_loss: delta must be positive, got 0"},
                     {[] { huber_loss(ones({2}), ones({2}), Reduction::mean, 1, ones({})); },
                      "huber_loss: weight must have the input's shape, got [] for [2]"}});
  row.calls.push_back({"parameter", [](const Tensors& x) -> Tensors {
                         return {huber_loss(x[0], x[1], Reduction::mean, 1.5)};
                       }});
  add_weighted<weighted_huber>(row);
  row.also.push_back("mean");
  return row;
}

Row kl_divergence() {
  Row row = row_of<kl_div_of>("kl_div", {{[] {
                                            kl_div(ones({2, 3}), ones({2}));
                                          },
                                          "kl_div: shapes must broadcast, got [2,3] and [2]"}});
  row.calls.push_back({"batchmean", [](const Tensors& x) -> Tensors {
                         return {kl_div(x[0], x[1], Reduction::batchmean)};
                       }});
  row.calls.push_back({"log_target", [](const Tensors& x) -> Tensors {
                         return {kl_div(x[0], x[1], Reduction::batchmean, true)};
                       }});
  row.calls.push_back({"log_target_none", [](const Tensors& x) -> Tensors {
                         return {kl_div(x[0], x[1], Reduction::none, true)};
                       }});
  return row;
}

Row bce() {
  Row row = row_of<bce_of>(
      "binary_cross_entropy",
      {{[] {
          binary_cross_entropy(ones({2, 3}), ones({2}));
        },
        "binary_cross_entropy: the target must have the input's shape, got [2] for [2,3]"},
       {[] {
          binary_cross_entropy(tensor({0.5, 1.5, -1.0}), ones({3}));
        },
        "binary_cross_entropy: input must lie in [0, 1], got 1.5"},
       {[] {
          binary_cross_entropy(full({3}, 0.5), tensor({0.5, 1.0, -0.25}));
        },
        "binary_cross_entropy: target must lie in [0, 1], got -0.25"}});
  row.calls.push_back({"weight", [](const Tensors& x) -> Tensors {
                         return {binary_cross_entropy(x[0], x[1], {.weight = x[2]})};
                       }});
  row.large = large_chances;
  return row;
}

Row bce_with_logits() {
  Row row = row_of<bce_with_logits_of>(
      "binary_cross_entropy_with_logits",
      {{[] {
          binary_cross_entropy_with_logits(ones({2, 3}), ones({2}));
        },
        "binary_cross_entropy_with_logits: the target must have the input's shape, got [2] for "
        "[2,3]"},
       {[] {
          binary_cross_entropy_with_logits(ones({2}), ones({2}), {.weight = ones({3, 2})});
        },
        "binary_cross_entropy_with_logits: weight must broadcast to the input, got [3,2] for [2]"},
       {[] { binary_cross_entropy_with_logits(ones({1}), ones({1}), {.pos_weight = ones({3})}); },
        "binary_cross_entropy_with_logits: pos_weight must broadcast to the input, got [3] for "
        "[1]"}});
  row.calls.push_back({"weight", [](const Tensors& x) -> Tensors {
                         return {binary_cross_entropy_with_logits(x[0], x[1], {.weight = x[2]})};
                       }});
  row.calls.push_back({"pos_weight", [](const Tensors& x) -> Tensors {
                         return {
                             binary_cross_entropy_with_logits(x[0], x[1], {.pos_weight = x[2]})};
                       }});
  row.calls.push_back(
      {"both", [](const Tensors& x) -> Tensors {
         return {binary_cross_entropy_with_logits(
             x[0], x[1], {.weight = x[2], .reduction = Reduction::sum, .pos_weight = x[3]})};
       }});
  return row;
}

// ---- Classes. Inputs are x, target and, where there is one, weight.

Tensor weight_of(const Tensors& x) { return x.size() > 2 ? x[2] : Tensor(); }

template <Reduction reduction>
Tensors entropy(const Tensors& x) {
  return {cross_entropy(x[0], x[1], {.weight = weight_of(x), .reduction = reduction})};
}
template <Reduction reduction>
Tensors smoothed(const Tensors& x) {
  return {cross_entropy(x[0], x[1],
                        {.weight = weight_of(x), .reduction = reduction, .label_smoothing = 0.25})};
}
template <Reduction reduction>
Tensors likelihood(const Tensors& x) {
  return {nll_loss(x[0], x[1], {.weight = weight_of(x), .reduction = reduction})};
}

constexpr Reduction kNone = Reduction::none, kMean = Reduction::mean, kSum = Reduction::sum;

std::vector<BadCall> bad_entropies() {
  return {{[] {
             cross_entropy(ones({4, 5}), tensor({0, 1, 4, 7}));
           },
           "cross_entropy: target must be in [0, C) or ignore_index, got 7 at [3], C 5"},
          {[] {
             cross_entropy(ones({1, 5, 1, 2}), tensor({{{0, -1}}}));
           },
           "cross_entropy: target must be in [0, C) or ignore_index, got -1 at [0,0,1], C 5"},
          {[] {
             cross_entropy(ones({4, 5}), tensor({0, 1}));
           },
           "cross_entropy: target must have the input's shape without the classes, got [2] for "
           "[4,5]"},
          {[] {
             cross_entropy(ones({4, 5}), ones({4}));
           },
           "cross_entropy: classes must be i64 or i32, got f32"},
          {[] {
             cross_entropy(ones({4, 5}), ones({4, 5}, {.dtype = i64}));
           },
           "cross_entropy: probabilities must be floating, got i64"},
          {[] {
             cross_entropy(ones({4, 5}), ones({4, 5}), {.ignore_index = 1});
           },
           "cross_entropy: ignore_index is for classes, got 1"},
          {[] {
             cross_entropy(ones({2, 5}), tensor({0, 1}), {.weight = ones({4})});
           },
           "cross_entropy: weight must be (C), got [4] for [2,5]"},
          {[] {
             cross_entropy(ones({2, 5}), tensor({0, 1}), {.weight = ones({5}).requires_grad_()});
           },
           "cross_entropy: weights take no gradient, got [5] that require one"},
          {[] {
             cross_entropy(ones({2, 5}), tensor({0, 1}), {.label_smoothing = 1.5});
           },
           "cross_entropy: label_smoothing must lie in [0, 1], got 1.5"},
          {[] {
             cross_entropy(ones({2, 0}), tensor({0, 1}));
           },
           "cross_entropy: there must be classes, got [2,0]"},
          {[] {
             cross_entropy(ones({}), tensor({0, 1}));
           },
           "cross_entropy: input must be (C), (N, C) or (N, C, d1, ...), got []"}};
}

Row cross_entropies() {
  return {.op = "cross_entropy",
          .tolerance = kLosses,
          .calls = {{"default", entropy<kMean>},
                    {"none", entropy<kNone>},
                    {"sum", entropy<kSum>},
                    {"weight", entropy<kMean>},
                    {"weight_none", entropy<kNone>},
                    {"weight_sum", entropy<kSum>},
                    {"ignore_index",
                     [](const Tensors& x) -> Tensors {
                       return {cross_entropy(x[0], x[1], {.ignore_index = 1})};
                     }},
                    {"smoothing", smoothed<kMean>},
                    {"smoothing_none", smoothed<kNone>},
                    {"smoothing_weight", smoothed<kMean>},
                    {"smoothing_weight_none", smoothed<kNone>},
                    {"probabilities", entropy<kMean>},
                    {"probabilities_none", entropy<kNone>},
                    {"probabilities_sum", entropy<kSum>},
                    {"probabilities_weight", entropy<kMean>},
                    {"probabilities_weight_none", entropy<kNone>},
                    {"probabilities_smoothing", smoothed<kMean>},
                    {"probabilities_smoothing_none", smoothed<kNone>},
                    {"probabilities_smoothing_weight", smoothed<kMean>},
                    {"probabilities_smoothing_weight_none", smoothed<kNone>}},
          .bad = bad_entropies(),
          .also = {"fill_", "to"},
          .functions = {"cross_entropy_backward"},
          .large =
              [] {
                return Tensors{numbers({8, 21, 61, 63}), places({8, 61, 63}, 21)};
              },
          .autocasts = Autocasts::f32};
}

Row likelihoods() {
  return {.op = "nll_loss",
          .tolerance = kLosses,
          .calls = {{"default", likelihood<kMean>},
                    {"none", likelihood<kNone>},
                    {"sum", likelihood<kSum>},
                    {"weight", likelihood<kMean>},
                    {"weight_none", likelihood<kNone>},
                    {"weight_sum", likelihood<kSum>},
                    {"ignore_index",
                     [](const Tensors& x) -> Tensors {
                       return {nll_loss(x[0], x[1], {.ignore_index = 1})};
                     }}},
          .bad = {{[] {
                     nll_loss(ones({4, 5}), tensor({0, 1, 4, 5}));
                   },
                   "nll_loss: target must be in [0, C) or ignore_index, got 5 at [3], C 5"},
                  {[] {
                     nll_loss(ones({4, 5}), ones({4, 5}));
                   },
                   "nll_loss: classes must be i64 or i32, got f32"}},
          .also = {"fill_", "to"},
          .functions = {"nll_loss_backward"},
          .large =
              [] {
                return Tensors{numbers({8, 21, 61, 63}), places({8, 61, 63}, 21)};
              },
          .autocasts = Autocasts::f32};
}

// ---- Cosines.

Row similarity() {
  return {
      .op = "cosine_similarity",
      .tolerance = kLosses,
      .calls = {{"default",
                 [](const Tensors& x) -> Tensors { return {cosine_similarity(x[0], x[1])}; }},
                {"last",
                 [](const Tensors& x) -> Tensors { return {cosine_similarity(x[0], x[1], -1)}; }},
                {"eps",
                 [](const Tensors& x) -> Tensors {
                   return {cosine_similarity(x[0], x[1], 0, 100)};
                 }},
                {"vectors",
                 [](const Tensors& x) -> Tensors { return {cosine_similarity(x[0], x[1], 0)}; }}},
      .bad = {{[] {
                 cosine_similarity(ones({2, 3}), ones({2, 4}));
               },
               "cosine_similarity: shapes must broadcast, got [2,3] and [2,4]"},
              {[] {
                 cosine_similarity(ones({2, 3}), ones({2, 3}), 2);
               },
               "cosine_similarity: dimension out of range, got dim 2 of a 2-d tensor"}},
      .also = {"clamp_min", "div", "eq", "fill_", "line_products", "mul", "sqrt", "to", "where"},
      .large =
          [] {
            return Tensors{numbers({300, 7, 111}), numbers({300, 7, 1})};
          },
      .autocasts = Autocasts::f32};
}

Row pair_distances() {
  return {.op = "pdist",
          .tolerance = {16, 16, 0, 1},
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {pdist(x[0])}; }},
                    {"zero", [](const Tensors& x) -> Tensors { return {pdist(x[0], 0)}; }},
                    {"one", [](const Tensors& x) -> Tensors { return {pdist(x[0], 1)}; }},
                    {"three", [](const Tensors& x) -> Tensors { return {pdist(x[0], 3)}; }},
                    {"inf", [](const Tensors& x) -> Tensors { return {pdist(x[0], INFINITY)}; }}},
          .bad = {{[] { pdist(ones({2})); }, "pdist: input must be a matrix, got [2]"},
                  {[] {
                     pdist(ones({2, 3}), -1);
                   },
                   "pdist: p can't be negative, got -1"},
                  {[] {
                     pdist(ones({2, 3}, {.dtype = i64}));
                   },
                   "pdist: dtype must be floating, got i64"}},
          .also = {"find_bad_index", "gather", "norm", "sub", "sum", "to"},
          .autocasts = Autocasts::f32};
}

template <Reduction reduction>
Tensors embedding_loss(const Tensors& x) {
  return {cosine_embedding_loss(x[0], x[1], x[2], 0, reduction)};
}

Row embedding() {
  return {.op = "cosine_embedding_loss",
          .tolerance = kLosses,
          .calls = {{"default", embedding_loss<kMean>},
                    {"none", embedding_loss<kNone>},
                    {"sum", embedding_loss<kSum>},
                    {"margin",
                     [](const Tensors& x) -> Tensors {
                       return {cosine_embedding_loss(x[0], x[1], x[2], 0.25)};
                     }}},
          .bad = {{[] {
                     cosine_embedding_loss(ones({2, 3}), ones({2, 3}), ones({}));
                   },
                   "cosine_embedding_loss: inputs must be (N, D) with target (N), or (D) with "
                   "target (), got [2,3], [2,3] and []"},
                  {[] {
                     cosine_embedding_loss(ones({2, 3}), ones({2, 3}), ones({3}));
                   },
                   "cosine_embedding_loss: a target for each input, got [3] for [2,3]"}},
          .also = {"add", "clamp_min", "div", "eq", "line_products", "mean", "mul", "sqrt", "sub",
                   "sum", "where"},
          .large =
              [] {
                return Tensors{numbers({3000, 77}), numbers({1, 77}), places({3000}, 2) * 2 - 1};
              },
          .autocasts = Autocasts::f32};
}

}  // namespace

std::vector<Row> loss_rows() {
  return {mse(),           l1(),         smooth_l1(),       huber(),
          kl_divergence(), bce(),        bce_with_logits(), cross_entropies(),
          likelihoods(),   similarity(), pair_distances(),  embedding()};
}

}  // namespace aorta::catalog
