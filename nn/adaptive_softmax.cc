#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/nn/adaptive_softmax.h>

#include <cmath>

namespace aorta::nn {
namespace {

constexpr const char* kAdaptive = "AdaptiveLogSoftmaxWithLoss";

// The clusters' ends: all cutoffs and the number of classes.
std::vector<int64_t> ends_of(const List<int64_t>& cutoffs, int64_t n_classes) {
  check(!cutoffs.empty(), kAdaptive, "there must be a cutoff", "none");
  std::vector<int64_t> ends = cutoffs;
  ends.push_back(n_classes);
  int64_t before = 0;
  for (const int64_t end : ends) {
    check(end > before, kAdaptive, "cutoffs must rise, from 1 on and below n_classes", end,
          " behind ", before);
    before = end;
  }
  return ends;
}

Tensor rows_where(const Tensor& condition) { return nonzero(condition).squeeze(1); }

void check_features(const Tensor& input, int64_t features, bool unbatched) {
  check_defined(kAdaptive, {{"input", input}});
  check((input.dim() == 2 || (unbatched && input.dim() == 1)) && input.size(-1) == features,
        kAdaptive,
        unbatched ? "input must be (N, in_features) or (in_features)"
                  : "input must be (N, in_features)",
        input.shape(), " for ", features);
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(int64_t in, int64_t classes,
                                                       const List<int64_t>& given,
                                                       const AdaptiveLogSoftmaxOptions& options)
    : in_features(in),
      n_classes(classes),
      cutoffs(ends_of(given, classes)),
      options(options),
      head(*this, "head", in, cutoffs[0] + static_cast<int64_t>(cutoffs.size()) - 1,
           {.bias = options.head_bias}),
      tail(*this, "tail") {
  check(options.div_value > 0, kAdaptive, "div_value must be positive", options.div_value);
  for (size_t i = 0; i + 1 < cutoffs.size(); ++i) {
    const double features = std::floor(static_cast<double>(in) /
                                       std::pow(options.div_value, static_cast<double>(i + 1)));
    check(features >= 1 && features < 0x1p31, kAdaptive,
          "div_value must leave each cluster a feature, and fewer than 2^31", features);
    const int64_t hidden = static_cast<int64_t>(features);
    tail.push_back(Sequential(Linear(in, hidden, {.bias = false}),
                              Linear(hidden, cutoffs[i + 1] - cutoffs[i], {.bias = false})));
  }
}

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(Module& owner, const char* name, int64_t in,
                                                       int64_t classes, const List<int64_t>& given,
                                                       const AdaptiveLogSoftmaxOptions& options)
    : AdaptiveLogSoftmaxWithLoss(in, classes, given, options) {
  join(owner, name);
}

AdaptiveLogSoftmaxWithLoss::Output AdaptiveLogSoftmaxWithLoss::forward(const Tensor& given,
                                                                       const Tensor& target) const {
  check_features(given, in_features, true);
  check_defined(kAdaptive, {{"target", target}});
  const Tensor input = given.dim() == 1 ? given.unsqueeze(0) : given;
  Shape wanted = given.shape();
  wanted.erase(wanted.size() - 1);
  check(target.shape() == wanted, kAdaptive, "target must be (N), or () for (in_features)",
        target.shape(), " for ", given.shape());
  check(target.dtype() == DType::i64, kAdaptive, "target must be i64", target.dtype());
  const Tensor classes = target.reshape({-1});
  if (classes.numel() > 0 && !classes.is_meta()) {
    const int64_t least = amin(classes).item<int64_t>(), most = amax(classes).item<int64_t>();
    check(least >= 0 && most < n_classes, kAdaptive, "target must be in [0, n_classes)",
          least < 0 ? least : most, " for ", n_classes);
  }
  const Tensor scores = log_softmax(head(input), 1);
  Tensor places = classes, own;  // in the head's scores; the log-probability within a cluster
  for (size_t i = 0; i + 1 < cutoffs.size(); ++i) {
    const int64_t begin = cutoffs[i], end = cutoffs[i + 1];
    const Tensor here = logical_and(ge(classes, begin), lt(classes, end));
    const Tensor rows = rows_where(here);
    places = where(here, cutoffs[0] + static_cast<int64_t>(i), places);
    if (rows.numel() == 0) continue;
    const Tensor within =
        log_softmax(tail[static_cast<int64_t>(i)](index_select(input, 0, rows)), 1);
    const Tensor wanted_there = (index_select(classes, 0, rows) - begin).unsqueeze(1);
    const Tensor part = gather(within, 1, wanted_there).squeeze(1);
    if (!own.defined())
      own = zeros({classes.numel()}, {.dtype = part.dtype(), .device = part.device()});
    own = index_add(own, 0, rows, part);
  }
  Tensor output = gather(scores, 1, places.unsqueeze(1)).squeeze(1);
  if (own.defined()) output = output + own;
  const Tensor loss = neg(mean(output));
  return {output.reshape(wanted), loss};
}

Tensor AdaptiveLogSoftmaxWithLoss::all_of(const Tensor& input, const Tensor& head_output) const {
  const Tensor scores = log_softmax(head_output, 1);
  std::vector<Tensor> parts{scores.narrow(1, 0, cutoffs[0])};
  for (int64_t i = 0; i < static_cast<int64_t>(tail.size()); ++i)
    parts.push_back(log_softmax(tail[i](input), 1) + scores.narrow(1, cutoffs[0] + i, 1));
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& input) const {
  check_features(input, in_features, false);
  return all_of(input, head(input));
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& given) const {
  check_features(given, in_features, true);
  const Tensor input = given.dim() == 1 ? given.unsqueeze(0) : given;
  const Tensor scores = head(input);
  Tensor best = argmax(scores, 1);
  // A class of the head that is likelier than all clusters is likelier than their classes.
  const Tensor rows = rows_where(ge(best, cutoffs[0]));
  if (rows.numel() > 0) {
    const Tensor there = all_of(index_select(input, 0, rows), index_select(scores, 0, rows));
    best = index_copy(best, 0, rows, argmax(there, 1));
  }
  return given.dim() == 1 ? best.squeeze(0) : best;
}

}  // namespace aorta::nn
