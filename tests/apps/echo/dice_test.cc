#include <aorta/aorta.h>
#include <aorta/apps/echo/measure/dice.h>

#include <cmath>
#include <numeric>

#include <aorta/tests/apps/echo/test_files.h>

namespace aorta::echo {
namespace {

TEST(Dice, CountsBothAndEither) {
  const Tensor a = tensor({1, 1, 0, 0, 2, 0}).to(u8).view({2, 3});
  const Tensor b = tensor({1, 0, 1, 0, 1, 0}).to(u8).view({2, 3});
  const Overlap counts = overlap(a, b);
  EXPECT_EQ(counts.intersection, 2);
  EXPECT_EQ(counts.either, 4);
  EXPECT_DOUBLE_EQ(counts.dice(), 2 * 2. / (3 + 3));
  EXPECT_EQ(overlap(a, a).dice(), 1);
  EXPECT_EQ(overlap(a.clone().zero_(), a).dice(), 0);
  EXPECT_TRUE(std::isnan(Overlap().dice()));
  EXPECT_EQ(error_of([&] { overlap(a, b.to(f32)); }),
            "overlap: masks must be u8 of one shape, got u8 [2,3] and f32 [2,3]");
}

TEST(Dice, PoolsPixelsAsEchoNetDoes) {
  const VideoOverlap videos[] = {{{80, 100}, {30, 60}}, {{10, 90}, {50, 50}}};
  EXPECT_DOUBLE_EQ(videos[0].dice(), 2. * 110 / (160 + 110));
  const DiceScores scores = dice_scores(videos);
  EXPECT_DOUBLE_EQ(scores.overall.value, 2. * 170 / (300 + 170));
  EXPECT_DOUBLE_EQ(scores.large.value, 2. * 90 / (190 + 90));
  EXPECT_DOUBLE_EQ(scores.small.value, 2. * 80 / (110 + 80));
  // Each of two videos is drawn twice in a quarter of the samples: the interval ends at them.
  EXPECT_DOUBLE_EQ(scores.large.low, 2. * 10 / 100);
  EXPECT_DOUBLE_EQ(scores.large.high, 2. * 80 / 180);
  EXPECT_TRUE(std::isnan(dice_scores(std::vector<VideoOverlap>(3)).overall.low));
  const VideoOverlap one[] = {videos[0]};
  EXPECT_EQ(dice_scores(one).overall.low, dice_scores(one).overall.high);
}

// Means of n draws are normal for large n: mean -+ 1.645 sigma / sqrt(n).
TEST(Bootstrap, HasTheIntervalOfTheNormalDistribution) {
  constexpr int64_t kCount = 500;
  Generator random(4);
  const auto values = randn({kCount}, {.dtype = f64}, &random).to_vector<double>();
  const auto mean_of = [&](std::span<const int32_t> chosen) {
    double sum = 0;
    for (const int32_t i : chosen) sum += values[static_cast<size_t>(i)];
    return sum / static_cast<double>(chosen.size());
  };
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / kCount;
  for (const double value : values) squares += (value - mean) * (value - mean) / kCount;
  const double half = 1.645 * std::sqrt(squares / kCount);
  const Interval interval = bootstrap(kCount, mean_of);
  EXPECT_NEAR(interval.value, mean, 1e-12);
  EXPECT_NEAR(interval.low, mean - half, 0.05 * half);
  EXPECT_NEAR(interval.high, mean + half, 0.05 * half);
  // The 5th percentile of a normal distribution's 10,000 samples is known to about 2 %.
  const Interval narrow = bootstrap(kCount, mean_of, {.tail = 0.25});
  EXPECT_NEAR(narrow.high, mean + half * 0.6745 / 1.645, 0.05 * half);
}

TEST(Bootstrap, DependsOnTheSeedAndNotOnThreads) {
  const auto sum_of = [&](std::span<const int32_t> chosen) {
    return std::sqrt(1.0 + std::accumulate(chosen.begin(), chosen.end(), 0));
  };
  const int threads = get_num_threads();
  set_num_threads(1);
  const Interval one = bootstrap(99, sum_of, {.seed = 5});
  set_num_threads(3);
  const Interval three = bootstrap(99, sum_of, {.seed = 5});
  set_num_threads(threads);
  EXPECT_EQ(one.low, three.low);
  EXPECT_EQ(one.high, three.high);
  EXPECT_NE(bootstrap(99, sum_of, {.seed = 6}).low, one.low);
}

TEST(Bootstrap, RefusesWhatHasNoSamples) {
  const auto nothing = [](std::span<const int32_t>) { return 0.; };
  EXPECT_EQ(error_of([&] { bootstrap(0, nothing); }),
            "bootstrap: there must be 1 to 2147483647 things to choose from, got 0");
  EXPECT_EQ(error_of([&] { bootstrap(3, nothing, {.tail = 0.5}); }),
            "bootstrap: tail must be 0 to 0.5, got 0.5");
}

}  // namespace
}  // namespace aorta::echo
