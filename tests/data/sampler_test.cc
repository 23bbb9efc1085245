#include <aorta/data/sampler.h>

#include <algorithm>
#include <numeric>

#include <aorta/tests/data/indices.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

TEST(SequentialSampler, GivesAllInOrder) {
  EXPECT_EQ(draw(SequentialSampler(4)), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(draw(SequentialSampler(0)), Indices{});
  EXPECT_EQ(SequentialSampler(4).size(), 4);
}

TEST(RandomSampler, GivesEachIndexOnce) {
  const Indices order = draw(RandomSampler(1000));
  EXPECT_NE(order, first(1000));
  EXPECT_EQ(sorted(order), first(1000));
  EXPECT_EQ(order, draw(RandomSampler(1000)));
  EXPECT_NE(order, draw(RandomSampler(1000), 2));
}

// Each of the 24 orders of 4 comes 1/24 of the time; 23 degrees of freedom, chi-squared below 49.7
// for all but 1 of 1000 generators.
TEST(RandomSampler, EveryOrderIsAsLikely) {
  const RandomSampler sampler(4);
  Generator random(3);
  std::vector<int> counts(256);
  constexpr int kDraws = 24000;
  for (int i = 0; i < kDraws; ++i) {
    const Indices order = sampler.indices(0, random);
    ++counts[static_cast<size_t>(order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3])];
  }
  double chi_squared = 0;
  int orders = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++orders;
    chi_squared += (count - 1000.) * (count - 1000.) / 1000.;
  }
  EXPECT_EQ(orders, 24);
  EXPECT_LT(chi_squared, 49.7);
}

TEST(RandomSampler, TakesAnyNumberOfSamples) {
  EXPECT_EQ(draw(RandomSampler(10, {.num_samples = 3})).size(), 3u);
  const Indices more = draw(RandomSampler(10, {.num_samples = 25}));
  ASSERT_EQ(more.size(), 25u);
  EXPECT_EQ(sorted(Indices(more.begin(), more.begin() + 10)), first(10));
  EXPECT_EQ(sorted(Indices(more.begin() + 10, more.begin() + 20)), first(10));
  const Indices replaced = draw(RandomSampler(10, {.replacement = true, .num_samples = 1000}));
  ASSERT_EQ(replaced.size(), 1000u);
  for (int64_t i = 0; i < 10; ++i) {
    const auto count = std::count(replaced.begin(), replaced.end(), i);
    EXPECT_GT(count, 50);  // 100 expected, standard deviation 9.5
    EXPECT_LT(count, 150);
  }
  EXPECT_NE(sorted(Indices(replaced.begin(), replaced.begin() + 10)), first(10));
  EXPECT_EQ(RandomSampler(10, {.num_samples = 3}).size(), 3);
}

TEST(BatchSampler, GroupsAndMayDropTheLast) {
  const auto sequence = std::make_shared<SequentialSampler>(5);
  Generator random;
  const BatchSampler keep(sequence, 2, false);
  EXPECT_EQ(keep.size(), 3);
  EXPECT_EQ(keep.batches(0, random), (std::vector<Indices>{{0, 1}, {2, 3}, {4}}));
  const BatchSampler drop(sequence, 2, true);
  EXPECT_EQ(drop.size(), 2);
  EXPECT_EQ(drop.batches(0, random), (std::vector<Indices>{{0, 1}, {2, 3}}));
  EXPECT_EQ(BatchSampler(sequence, 5, true).size(), 1);
  EXPECT_EQ(BatchSampler(sequence, 6, true).size(), 0);
}

// A dataset may say any size; an epoch's order is a vector.
TEST(Samplers, SayThatAnOrderDoesNotFit) {
  const int64_t all = INT64_MAX;
  const std::string most = " must be at most 2^59, got 9223372036854775807";
  EXPECT_EQ(error_of([&] { SequentialSampler{all}; }), "sampler: size" + most);
  EXPECT_EQ(error_of([&] { RandomSampler{all}; }), "sampler: size" + most);
  EXPECT_EQ(error_of([&] { RandomSampler(3, {.num_samples = all}); }),
            "sampler: num_samples" + most);
  EXPECT_EQ(draw(RandomSampler(all, {.replacement = true, .num_samples = 2})).size(), 2u);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // end the program instead
  const int64_t many = int64_t{1} << 50;
  const std::string memory =
      "sampler: there must be memory for an epoch's order, 8 bytes a sample, got 1125899906842624 "
      "samples";
  EXPECT_EQ(error_of([&] { draw(SequentialSampler(many)); }), memory);
  EXPECT_EQ(error_of([&] { draw(RandomSampler(many)); }), memory);
  EXPECT_EQ(error_of([&] { draw(RandomSampler(3, {.num_samples = many})); }), memory);
  EXPECT_EQ(error_of([&] { draw(RandomSampler(many, {.replacement = true})); }), memory);
#endif
}

TEST(Samplers, SayWhatIsWrong) {
  EXPECT_EQ(error_of([] { SequentialSampler(-1); }), "sampler: size can't be negative, got -1");
  EXPECT_EQ(error_of([] { RandomSampler(-1); }), "sampler: size can't be negative, got -1");
  EXPECT_EQ(error_of([] { RandomSampler(5, {.num_samples = -2}); }),
            "sampler: num_samples can't be negative, got -2");
  EXPECT_EQ(error_of([] { RandomSampler(0, {.num_samples = 2}); }),
            "sampler: there must be samples to draw from, got 2 draws from none");
  EXPECT_EQ(error_of([] { BatchSampler(nullptr, 1, false); }),
            "batch_sampler: there must be a sampler, got none");
  EXPECT_EQ(error_of([] { BatchSampler(std::make_shared<SequentialSampler>(1), 0, false); }),
            "batch_sampler: batch_size must be at least 1, got 0");
}

}  // namespace
}  // namespace aorta::data
