#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/data/random_samplers.h>

#include <algorithm>
#include <cmath>

namespace aorta::data {
namespace {

std::vector<double> list_of(const Tensor& weights) {
  const char* op = "weighted_random_sampler";
  check_defined(op, {{"weights", weights}});
  check(weights.dim() == 1, op, "weights must be (N)", weights.shape());
  return weights.to_vector<double>();
}

}  // namespace

SubsetRandomSampler::SubsetRandomSampler(const List<int64_t>& indices) : indices_(indices) {}

std::vector<int64_t> SubsetRandomSampler::indices(int64_t, Generator& random) const {
  std::vector<int64_t> order = indices_;
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.next_below(static_cast<int64_t>(i)))]);
  return order;
}

WeightedRandomSampler::WeightedRandomSampler(const List<double>& weights, int64_t num_samples,
                                             bool replacement)
    : weights_(weights), num_samples_(num_samples), replacement_(replacement) {
  const char* op = "weighted_random_sampler";
  check(num_samples > 0, op, "num_samples should be a positive integer value", num_samples);
  double sum = 0;
  int64_t positive = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    check(std::isfinite(weights[i]) && weights[i] >= 0, op,
          "weights must be finite and not negative", weights[i], " at ", i);
    sum += weights[i];
    positive += weights[i] > 0;
  }
  check(sum > 0 && std::isfinite(sum), op, "the sum of the weights must be above 0 and finite",
        sum);
  check(replacement || num_samples <= positive, op,
        "without replacement there must be as many weights above 0 as samples", positive, " for ",
        num_samples, " samples");
}

WeightedRandomSampler::WeightedRandomSampler(const Tensor& weights, int64_t num_samples,
                                             bool replacement)
    : WeightedRandomSampler(list_of(weights), num_samples, replacement) {}

std::vector<int64_t> WeightedRandomSampler::indices(int64_t, Generator& random) const {
  const Tensor weights = tensor(weights_);
  return multinomial(weights, num_samples_, replacement_, &random).to_vector<int64_t>();
}

}  // namespace aorta::data
