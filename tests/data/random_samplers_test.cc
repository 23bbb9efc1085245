#include <aorta/core/ops/creation.h>
#include <aorta/data/distributed_sampler.h>
#include <aorta/data/loader.h>
#include <aorta/data/random_samplers.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <aorta/tests/data/indices.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

TEST(SubsetRandomSampler, GivesEachIndexOnceInRandomOrder) {
  Indices odd;
  for (int64_t i = 1; i < 200; i += 2) odd.push_back(i);
  const SubsetRandomSampler sampler(odd);
  EXPECT_EQ(sampler.size(), 100);
  const Indices order = draw(sampler);
  EXPECT_NE(order, odd);
  EXPECT_EQ(sorted(order), odd);
  EXPECT_EQ(order, draw(sampler));
  EXPECT_NE(order, draw(sampler, 2));
  EXPECT_EQ(sorted(draw(SubsetRandomSampler({5, 5, 2}))), (Indices{2, 5, 5}));
  EXPECT_EQ(draw(SubsetRandomSampler({})), Indices{});
}

// Each of the six orders of three comes 1/6 of the time; 5 degrees of freedom, chi-squared below
// 20.5 for all but 1 of 1000 generators.
TEST(SubsetRandomSampler, EveryOrderIsAsLikely) {
  const SubsetRandomSampler sampler({7, 8, 9});
  Generator random(5);
  std::map<Indices, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[sampler.indices(0, random)];
  ASSERT_EQ(counts.size(), 6u);
  double chi_squared = 0;
  for (const auto& [order, count] : counts)
    chi_squared += (count - 1000.) * (count - 1000.) / 1000.;
  EXPECT_LT(chi_squared, 20.5);
}

TEST(WeightedRandomSampler, DrawsInProportionToTheWeights) {
  const std::vector<double> weights{1, 0, 2, 5};
  const WeightedRandomSampler sampler(weights, 80000);
  EXPECT_EQ(sampler.size(), 80000);
  std::vector<double> counts(4);
  for (const int64_t i : draw(sampler)) ++counts[static_cast<size_t>(i)];
  EXPECT_EQ(counts[1], 0);
  for (const size_t i : {0u, 2u, 3u}) {
    const double p = weights[i] / 8;
    EXPECT_NEAR(counts[i], 80000 * p, 5 * std::sqrt(80000 * p * (1 - p))) << i;
  }
}

// The chance of the order (a, b) without replacement is w_a / W * w_b / (W - w_a).
TEST(WeightedRandomSampler, WithoutReplacementDrawsFromThoseLeft) {
  const std::vector<double> weights{1, 2, 0, 5};
  const WeightedRandomSampler sampler(weights, 2, false);
  Generator random(9);
  std::map<Indices, double> counts;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.indices(0, random)];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) {
    const double a = weights[static_cast<size_t>(order[0])];
    const double b = weights[static_cast<size_t>(order[1])];
    const double p = a / 8 * b / (8 - a);
    EXPECT_NEAR(count, kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << order[0] << order[1];
  }
  EXPECT_EQ(sorted(draw(WeightedRandomSampler(weights, 3, false))), (Indices{0, 1, 3}));
}

TEST(WeightedRandomSampler, TakesATensor) {
  const std::vector<double> weights{1, 0, 2, 5};
  EXPECT_EQ(draw(WeightedRandomSampler(tensor(weights, {.dtype = f32}), 50)),
            draw(WeightedRandomSampler(weights, 50)));
  EXPECT_EQ(error_of([] {
              WeightedRandomSampler(ones({2, 2}), 1);
            }),
            "weighted_random_sampler: weights must be (N), got [2,2]");
}

TEST(WeightedRandomSampler, SaysWhatIsWrong) {
  const std::string op = "weighted_random_sampler: ";
  EXPECT_EQ(error_of([] {
              WeightedRandomSampler({1, 2}, 0);
            }),
            op + "num_samples should be a positive integer value, got 0");
  EXPECT_EQ(error_of([] {
              WeightedRandomSampler({1, -2}, 1);
            }),
            op + "weights must be finite and not negative, got -2 at 1");
  EXPECT_EQ(error_of([] { WeightedRandomSampler({NAN}, 1); }),
            op + "weights must be finite and not negative, got nan at 0");
  for (const std::vector<double>& none : {std::vector<double>{}, std::vector<double>{0, 0}})
    EXPECT_EQ(error_of([&] { WeightedRandomSampler(none, 1); }),
              op + "the sum of the weights must be above 0 and finite, got 0");
  EXPECT_EQ(error_of([] {
              WeightedRandomSampler({1, 0, 2}, 3, false);
            }),
            op +
                "without replacement there must be as many weights above 0 as samples, got 2 for 3 "
                "samples");
}

// What PyTorch's DistributedSampler gives without shuffling, for sizes that divide and don't.
TEST(DistributedSampler, PadsOrDropsAsPyTorchDoes) {
  const auto part = [](int64_t size, int64_t replicas, int64_t rank, bool drop_last) {
    return draw(DistributedSampler(
        size, {.num_replicas = replicas, .rank = rank, .shuffle = false, .drop_last = drop_last}));
  };
  EXPECT_EQ(part(6, 2, 1, false), (Indices{1, 3, 5}));
  EXPECT_EQ(part(7, 3, 0, false), (Indices{0, 3, 6}));
  EXPECT_EQ(part(7, 3, 1, false), (Indices{1, 4, 0}));
  EXPECT_EQ(part(7, 3, 2, false), (Indices{2, 5, 1}));
  EXPECT_EQ(part(7, 3, 2, true), (Indices{2, 5}));
  // More replicas than samples: the order is repeated as often as it takes.
  EXPECT_EQ(part(2, 5, 3, false), Indices{1});
  EXPECT_EQ(part(2, 5, 4, false), Indices{0});
  EXPECT_EQ(part(2, 5, 0, true), Indices{});
  EXPECT_EQ(part(0, 2, 1, false), Indices{});
}

TEST(DistributedSampler, RanksShareOneOrderOfEachEpoch) {
  for (const bool drop_last : {false, true}) {
    std::multiset<int64_t> seen;
    for (int64_t rank = 0; rank < 4; ++rank) {
      const DistributedSampler sampler(
          99, {.num_replicas = 4, .rank = rank, .seed = 3, .drop_last = drop_last});
      // The loader's generator plays no part: processes may have other seeds.
      const Indices part = draw(sampler, static_cast<uint64_t>(rank), 2);
      EXPECT_EQ(part, draw(sampler, 77, 2));
      EXPECT_NE(part, draw(sampler, 77, 3));
      EXPECT_EQ(static_cast<int64_t>(part.size()), sampler.size());
      EXPECT_EQ(sampler.size(), drop_last ? 24 : 25);
      seen.insert(part.begin(), part.end());
    }
    const std::set<int64_t> distinct(seen.begin(), seen.end());
    EXPECT_EQ(distinct.size(), drop_last ? 96u : 99u);
    EXPECT_EQ(seen.size(), drop_last ? 96u : 100u);  // no duplicates with drop_last
  }
  EXPECT_NE(draw(DistributedSampler(99, {.seed = 1})), draw(DistributedSampler(99, {.seed = 2})));
}

TEST(DistributedSampler, RefusesBadRanks) {
  for (const int64_t rank : {-1, 3, 4})
    EXPECT_EQ(
        error_of([&] { DistributedSampler(10, {.num_replicas = 3, .rank = rank}); }),
        "distributed_sampler: rank should be in the interval [0, 2], got " + std::to_string(rank));
  EXPECT_EQ(error_of([] { DistributedSampler(10, {.num_replicas = 0}); }),
            "distributed_sampler: num_replicas must be at least 1, got 0");
  EXPECT_EQ(error_of([] { DistributedSampler(-1, {}); }),
            "distributed_sampler: size can't be negative, got -1");
}

// Item by item, two iterators at once: an epoch's order doesn't depend on the other's.
TEST(Samplers, InterleavedEpochsAreIndependent) {
  const WeightedRandomSampler sampler({1, 2, 3, 4}, 50);
  Generator one(4), two(4);
  const Indices a = sampler.indices(0, one);
  const Indices b = sampler.indices(0, two);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, sampler.indices(1, one));
}

TEST(BatchSampler, LengthsOverEachSampler) {
  const auto weighted = std::make_shared<WeightedRandomSampler>(std::vector<double>{1, 2, 3}, 10);
  const auto subset = std::make_shared<SubsetRandomSampler>(Indices{4, 2, 9, 7, 1});
  const auto part = std::make_shared<DistributedSampler>(
      10, DistributedSamplerOptions{.num_replicas = 3, .rank = 1});
  EXPECT_EQ(BatchSampler(weighted, 4, false).size(), 3);
  EXPECT_EQ(BatchSampler(weighted, 4, true).size(), 2);
  EXPECT_EQ(BatchSampler(subset, 2, false).size(), 3);
  EXPECT_EQ(BatchSampler(subset, 2, true).size(), 2);
  EXPECT_EQ(BatchSampler(part, 4, true).size(), 1);
}

// A user's own sampler, and batches of unequal sizes.
struct Backwards : Sampler {
  int64_t size() const override { return 6; }
  Indices indices(int64_t epoch, Generator&) const override {
    return epoch == 0 ? Indices{5, 4, 3, 2, 1, 0} : Indices{5, 5, 5, 0, 0, 0};
  }
};

struct Ragged : BatchSampler {
  int64_t size() const override { return 3; }
  std::vector<Indices> batches(int64_t, Generator&) const override {
    return {{1}, {5, 0}, {2, 3, 4}};
  }
};

struct Numbers : Dataset {
  int64_t size() const override { return 6; }
  std::vector<TensorSpec> specs() const override { return {{"n", i64, {}}}; }
  void read(int64_t index, Sample& sample, Generator&) const override { sample["n"].fill_(index); }
};

std::vector<Indices> epoch_of(DataLoader& loader) {
  std::vector<Indices> batches;
  for (const auto& batch : loader) batches.push_back(batch["n"].to_vector<int64_t>());
  return batches;
}

TEST(Samplers, UsersOwnServeAsWell) {
  const auto numbers = make_dataset<Numbers>();
  DataLoader backwards(numbers, {.batch_size = 4, .sampler = std::make_shared<Backwards>()});
  EXPECT_EQ(epoch_of(backwards), (std::vector<Indices>{{5, 4, 3, 2}, {1, 0}}));
  EXPECT_EQ(epoch_of(backwards), (std::vector<Indices>{{5, 5, 5, 0}, {0, 0}}));
  DataLoader ragged(numbers, {.batch_sampler = std::make_shared<Ragged>()});
  EXPECT_EQ(ragged.size(), 3);
  EXPECT_EQ(epoch_of(ragged), (std::vector<Indices>{{1}, {5, 0}, {2, 3, 4}}));
  DataLoader subset(
      numbers,
      {.batch_size = 6, .sampler = std::make_shared<SubsetRandomSampler>(first(6)), .seed = 1});
  const std::vector<Indices> one = epoch_of(subset), two = epoch_of(subset);
  EXPECT_NE(one, two);
  EXPECT_EQ(sorted(one[0]), first(6));
}

std::vector<Indices> batches_of(const BatchSampler& sampler, int64_t epoch) {
  Generator random(3, static_cast<uint64_t>(epoch));
  return sampler.batches(epoch, random);
}

// Side by side the ranks' parts are the batches of one process, whatever their number.
TEST(DistributedBatchSampler, PartsOfEachBatch) {
  const auto whole = std::make_shared<BatchSampler>(std::make_shared<RandomSampler>(100), 8, true);
  for (const int64_t replicas : {1, 2, 4, 8}) {
    for (const int64_t epoch : {0, 1}) {
      std::vector<Indices> joined(12);
      for (int64_t rank = 0; rank < replicas; ++rank) {
        const DistributedBatchSampler part(whole, replicas, rank, BatchShare::part_of_each);
        EXPECT_EQ(part.size(), 12);
        const std::vector<Indices> mine = batches_of(part, epoch);
        ASSERT_EQ(mine.size(), joined.size());
        for (size_t i = 0; i < mine.size(); ++i) {
          EXPECT_EQ(static_cast<int64_t>(mine[i].size()), 8 / replicas);
          joined[i].insert(joined[i].end(), mine[i].begin(), mine[i].end());
        }
      }
      EXPECT_EQ(joined, batches_of(*whole, epoch));
    }
  }
}

TEST(DistributedBatchSampler, EveryNthBatch) {
  const auto whole =
      std::make_shared<BatchSampler>(std::make_shared<SequentialSampler>(11), 2, false);
  const auto part = [&](int64_t replicas, int64_t rank) {
    const DistributedBatchSampler mine(whole, replicas, rank, BatchShare::every_nth);
    const std::vector<Indices> batches = batches_of(mine, 0);
    EXPECT_EQ(static_cast<int64_t>(batches.size()), mine.size());
    return batches;
  };
  EXPECT_EQ(part(4, 0), (std::vector<Indices>{{0, 1}, {8, 9}}));
  EXPECT_EQ(part(4, 1), (std::vector<Indices>{{2, 3}, {10}}));
  EXPECT_EQ(part(4, 3), (std::vector<Indices>{{6, 7}}));
  EXPECT_EQ(part(8, 7), std::vector<Indices>{});
}

TEST(DistributedBatchSampler, WhatItRefuses) {
  const auto whole =
      std::make_shared<BatchSampler>(std::make_shared<SequentialSampler>(12), 6, false);
  EXPECT_EQ(error_of([&] {
              batches_of(DistributedBatchSampler(whole, 4, 0, BatchShare::part_of_each), 0);
            }),
            "distributed_batch_sampler: batches must divide into a part a rank, got 6 for 4 ranks");
  EXPECT_EQ(error_of([&] { DistributedBatchSampler(whole, 2, 2, BatchShare::every_nth); }),
            "distributed_batch_sampler: rank should be in the interval [0, 1], got 2");
  EXPECT_EQ(error_of([] { DistributedBatchSampler(nullptr, 1, 0, BatchShare::every_nth); }),
            "distributed_batch_sampler: there must be batches, got none");
}

}  // namespace
}  // namespace aorta::data
