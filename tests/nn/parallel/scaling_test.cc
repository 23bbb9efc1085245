// The model of what a step of ranks takes, against tools/scaling.py's numbers.
#include <aorta/nn/parallel/scaling.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

namespace aorta::nn {
namespace {

// exposed(step, backward, gradients, bucket, ranks, latency, bandwidth) of tools/scaling.py.
TEST(Scaling, IsThatOfTheTool) {
  const auto exposed = [](double step, double backward, double gradients, double bucket, int ranks,
                          RankSpeed speed) {
    return exposed_seconds({.ranks = ranks,
                            .compute_seconds = step,
                            .gradient_bytes = gradients,
                            .bucket_bytes = bucket,
                            .backward_share = backward,
                            .speed = speed});
  };
  EXPECT_NEAR(exposed(0.01, 0, 1e+08, 2.5e+07, 4, {0.001, 1e+09}), 0.155, 1e-12);
  EXPECT_NEAR(exposed(100, 1, 1e+08, 2.5e+07, 4, {0.001, 1e+09}), 0.00257286400000112, 1e-12);
  EXPECT_NEAR(exposed(0.0103, 0.62, 1.585e+08, 2.5e+07, 2, {3e-05, 4.797e+11}),
              6.68283899465574e-05, 1e-12);
  EXPECT_NEAR(exposed(0.6, 0.62, 1.585e+08, 2.5e+07, 2, {3e-05, 1.25e+09}), 0.0164322980773323,
              1e-12);
  EXPECT_NEAR(exposed(0.1, 0.62, 1.585e+08, 2.5e+07, 3, {0.01, 1.25e+08}), 1.71746521401953, 1e-12);
  EXPECT_NEAR(exposed(0.001, 0.62, 95000, 2.5e+07, 2, {3e-05, 1e+09}), 0.000125, 1e-12);
  EXPECT_EQ(exposed(0.01, 0.62, 1e8, 25e6, 1, {1, 1}), 0);
}

TEST(Scaling, SaysWhereRanksAreSlowerThanOne) {
  // 95 KB by 30 us and 1 GB/s: 125 us beside 40 us of computation; alone it takes 80.
  RankedStep step{
      .ranks = 2, .compute_seconds = 40e-6, .gradient_bytes = 95e3, .speed = {30e-6, 1e9}};
  EXPECT_NEAR(predicted_speedup(step), 80.0 / 165, 1e-12);
  step.compute_seconds = 1e-3;
  EXPECT_NEAR(predicted_speedup(step), 2000.0 / 1125, 1e-12);
  step.ranks = 1;
  EXPECT_EQ(predicted_speedup(step), 1);
}

TEST(Scaling, ASpeedIsMeasuredAndTheSameOnAll) {
  RankSpeed found[3];
  const auto errors = on_ranks(
      3, {.timeout = 60}, [&](Communicator& end) { found[end.rank()] = measure_rank_speed(end); });
  EXPECT_EQ(errors, no_errors(3));
  for (const RankSpeed& speed : found) {
    EXPECT_GT(speed.latency, 0);
    EXPECT_LT(speed.latency, 10);
    EXPECT_GT(speed.bandwidth, 1e3);
    EXPECT_EQ(speed.latency, found[0].latency);
    EXPECT_EQ(speed.bandwidth, found[0].bandwidth);
  }
}

}  // namespace
}  // namespace aorta::nn
