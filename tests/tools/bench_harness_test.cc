// The benchmark's arithmetic, on sides that say how long they took instead of taking it.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/harness.h>
#include <aorta/tools/bench/sides.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace aorta::bench {
namespace {

Side saying(const char* name, double seconds, std::string* calls = nullptr) {
  return {.name = name, .run = [=](int64_t repetitions) {
            if (calls) *calls += name;
            return seconds * static_cast<double>(repetitions);
          }};
}

Row row_of(const Case& sides, Target target = {}) {
  return {.name = "row", .target = target, .make = [=] { return sides; }};
}

constexpr Settings kSettings = {.seconds = 0.44, .rounds = 11};

TEST(BenchMeasure, RatiosAndRepetitionsFollowFromTheTimes) {
  const Result result = measure(
      row_of(
          {.ours = saying("a", 1e-3), .reference = saying("b", 2e-3), .peer = saying("c", 4e-3)}),
      kSettings);
  EXPECT_EQ(result.ours.repetitions, 20);  // blocks of 20 ms
  EXPECT_EQ(result.reference.repetitions, 10);
  EXPECT_EQ(result.ours.blocks.size(), 22u);
  EXPECT_NEAR(result.ours.median, 1e-3, 1e-12);
  EXPECT_NEAR(result.to_reference.of_medians, 0.5, 1e-9);
  EXPECT_NEAR(result.to_reference.by_round, 0.5, 1e-9);
  EXPECT_NEAR(result.to_reference.low, 0.5, 1e-9);
  EXPECT_NEAR(result.to_peer.of_medians, 0.25, 1e-9);
  EXPECT_EQ(result.verdict, Verdict::none);
}

TEST(BenchMeasure, SidesTakeTurnsForwardsAndBackwards) {
  std::string calls;
  measure(row_of({.ours = saying("a", 1, &calls), .reference = saying("b", 1, &calls)}),
          {.seconds = 1, .rounds = 2});
  // Each for the first time, once more to calibrate, and then A-B-B-A twice.
  EXPECT_EQ(calls,
            "ab"
            "ab"
            "abba"
            "abba");
}

TEST(BenchMeasure, TargetsAreAboutTimeOrSpeed) {
  const Case half = {.ours = saying("a", 1e-3), .reference = saying("b", 2e-3)};
  EXPECT_EQ(measure(row_of(half, at_most(0.51)), kSettings).verdict, Verdict::ok);
  EXPECT_EQ(measure(row_of(half, at_most(0.49)), kSettings).verdict, Verdict::miss);
  EXPECT_EQ(measure(row_of(half, at_least(1.99)), kSettings).verdict, Verdict::ok);
  EXPECT_EQ(measure(row_of(half, at_least(2.01)), kSettings).verdict, Verdict::miss);
}

TEST(BenchMeasure, AShareOfNothingIsShownWithoutAVerdict) {
  const Case half = {.ours = saying("a", 1e-3), .reference = saying("b", 2e-3)};
  EXPECT_EQ(measure(row_of(half, at_least(0)), kSettings).verdict, Verdict::none);
}

TEST(BenchMeasure, AMissingReferenceHasNoVerdict) {
  const Result result =
      measure(row_of({.ours = saying("a", 1e-3), .reference = {.name = "b", .missing = "not here"}},
                     at_most(1)),
              kSettings);
  EXPECT_EQ(result.verdict, Verdict::none);
  EXPECT_EQ(result.reference.missing, "not here");
  EXPECT_EQ(result.to_reference.of_medians, 0);
}

TEST(BenchMeasure, ARowThatCannotRunHereIsLeftOut) {
  const Result result =
      measure(row_of({.ours = {.name = "a", .missing = "no GPU"}, .reference = saying("b", 1e-3)}),
              kSettings);
  EXPECT_EQ(result.ours.missing, "no GPU");
  EXPECT_EQ(result.ours.median, 0);
  EXPECT_TRUE(result.reference.blocks.empty());
  EXPECT_EQ(result.verdict, Verdict::none);
}

TEST(BenchMeasure, WhatDiffersIsNotTimed) {
  Case sides = {.ours = saying("a", 1e-3), .reference = saying("b", 2e-3)};
  sides.ours.values = [] { return std::vector<double>{1, 5}; };
  sides.reference.values = [] { return std::vector<double>{1, 6}; };
  const Result result = measure(row_of(sides), kSettings);
  EXPECT_EQ(result.verdict, Verdict::mismatch);
  EXPECT_EQ(result.note, "b: value 1: 5 against 6");
  EXPECT_TRUE(result.ours.blocks.empty());
}

TEST(BenchMeasure, SidesThatFail) {
  const auto failing = [] {
    return Side{.name = "b", .run = [](int64_t) -> double { fail("op", "a rule"); }};
  };
  const Result theirs =
      measure(row_of({.ours = saying("a", 1e-3), .reference = failing()}), kSettings);
  EXPECT_EQ(theirs.reference.missing, "b: op: a rule");
  EXPECT_EQ(theirs.verdict, Verdict::none);
  const Result ours = measure(row_of({.ours = failing()}), kSettings);
  EXPECT_EQ(ours.verdict, Verdict::mismatch);
  EXPECT_EQ(ours.note, "Aorta: op: a rule");
}

TEST(BenchDifference, IsRelativeToTheValuesAndTheirScale) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(difference({2, 1, nan, inf, 0}, {2, 1, nan, inf, 0}, 1e-5), "");
  EXPECT_EQ(difference({2, 1.00001, 100}, {2, 1, 100}, 1e-5), "");
  EXPECT_NE(difference({2, 100.01, 100}, {2, 100, 100}, 1e-5), "");
  EXPECT_NE(difference({2, nan}, {2, 1}, 1e-5), "");
  EXPECT_NE(difference({2, 1}, {2, nan}, 1e-5), "");
  EXPECT_NE(difference({2, inf}, {2, -inf}, 1e-5), "");
  EXPECT_NE(difference({2, 1}, {3, 1}, 10), "");  // the number of elements is exact
  EXPECT_NE(difference({2, 1}, {2, 1, 1}, 10), "");
}

TEST(BenchMedian, OfOddAndEvenNumbers) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_THROW(median({}), Error);
}

TEST(BenchInputs, SampleReadsInRowMajorOrder) {
  const Tensor x = arange(32).reshape({4, 8});
  const std::vector<double> values = sample(x);
  ASSERT_EQ(values.size(), 18u);
  EXPECT_EQ(values[0], 32);
  EXPECT_EQ(values[1], 15.5);
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(values[3], 2);  // 31 / 15
  EXPECT_EQ(values[17], 31);
  EXPECT_EQ(sample(x.t())[3], 16);  // element 2 of the transposed
  EXPECT_EQ(moments(tensor({1.0, 3.0})), (std::vector<double>{2, 2, 1}));
}

TEST(BenchInputs, OneDnnAgreesWithADirectProduct) {
  const int64_t n = 24;
  const Tensor a = make({n, n}, -1, 1, 1, DType::f64), b = make({n, n}, -1, 1, 2, DType::f64);
  const Tensor product = empty({n, n}, {.dtype = DType::f64});
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += a.at<double>({i, k}) * b.at<double>({k, j});
      product.at<double>({i, j}) = sum;
    }
  }
  EXPECT_EQ(difference(onednn_sgemm_side(n).values(), sample(product), 1e-5), "");
  EXPECT_EQ(difference(onednn_packed_side(n, n, n).values(), sample(product), 1e-5), "");
}

TEST(BenchPeak, KnownGpusHaveTheirMakersNumbersAndOthersTheirMemorysAlone) {
  const GpuPeak h200 = gpu_peak("NVIDIA H200", 3'201'000, 6144);
  EXPECT_NEAR(h200.bandwidth, 4.917e12, 1e9);  // bytes a second
  EXPECT_EQ(h200.bf16, 989.4e12);
  const GpuPeak other = gpu_peak("another", 1'000'000, 64);
  EXPECT_EQ(other.bandwidth, 16e9);
  EXPECT_EQ(other.bf16, 0);
  EXPECT_EQ(peak_side(1, other.bf16).missing, "peak not known of the GPU ''");
  EXPECT_NEAR(peak_side(32e9, other.bandwidth).run(3), 6, 1e-12);
}

TEST(BenchNumbers, NormalOnesHaveTheirMeanAndDeviation) {
  const std::vector<double> found = moments(make_normal({1 << 18}, 0.5, 1.5, 1));
  EXPECT_NEAR(found[1], 0.5, 0.01);
  EXPECT_NEAR(found[2], 1.5, 0.01);
  const Tensor normal = (make_normal({1 << 18}, 0, 1, 2).abs() < 1).to(f64);
  EXPECT_NEAR(mean(normal).item<double>(), 0.6827, 0.005);
}

}  // namespace
}  // namespace aorta::bench
