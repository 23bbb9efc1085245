#include <aorta/core/allocator.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/scalar/philox.h>
#include <aorta/core/scalar/trigonometric.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace aorta {
namespace {

// The known-answer vectors published with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, MatchesThePublishedVectors) {
  struct Row {
    uint32_t counter[4], key[2], expected[4];
  };
  const Row rows[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                       {0xffffffff, 0xffffffff},
                       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0},
                       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Row& row : rows) {
    const auto join = [](uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; };
    const scalar::PhiloxWords w =
        scalar::philox(join(row.key[0], row.key[1]), join(row.counter[2], row.counter[3]),
                       join(row.counter[0], row.counter[1]));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(w.word[i], row.expected[i]);
  }
}

TEST(Philox, UniformBelowIsTheHighHalfOfTheProduct) {
  Generator generator(5);
  for (int i = 0; i < 1000; ++i) {
    const uint32_t high = generator.next_u32(), low = generator.next_u32();
    const uint64_t range =
        (uint64_t{generator.next_u32()} << 32 | generator.next_u32()) >> (i % 64);
    const auto product = static_cast<unsigned __int128>(uint64_t{high} << 32 | low) * range;
    EXPECT_EQ(scalar::uniform_below(high, low, range), static_cast<uint64_t>(product >> 64));
  }
}

TEST(Random, GoesOnFromAState) {
  Generator generator(UINT64_MAX, 3);
  const DefaultGeneratorScope scope(generator);
  rand({5});
  const Tensor state = get_rng_state();
  const std::vector<float> next = rand({9}).to_vector<float>();
  generator.manual_seed(1);
  set_rng_state(state);
  EXPECT_EQ(rand({9}).to_vector<float>(), next);
  EXPECT_EQ(error_of([] { set_rng_state(ones({3})); }),
            "set_rng_state: state must be i64 (3), got f32 [3]");
}

TEST(Random, NormalIsBoxAndMullerOfTheWords) {
  Generator generator(11);
  const GeneratorState at = generator.state();
  const int64_t count = 4003;  // no whole number of blocks
  const std::vector<float> z = randn({count}, {}, &generator).to_vector<float>();
  for (int64_t i = 0; i < count; i += 2) {
    const scalar::PhiloxWords w =
        scalar::philox(at.seed, at.stream, at.position + static_cast<uint64_t>(i / 4));
    const size_t first = static_cast<size_t>(i), pair = first % 4 / 2;
    const double u = (static_cast<double>(w.word[2 * pair]) + 1) * 0x1p-32;
    const double angle = 2 * M_PI * static_cast<double>(w.word[2 * pair + 1] >> 8) * 0x1p-24;
    const double radius = std::sqrt(-2 * std::log(u));
    EXPECT_NEAR(z[first], radius * std::cos(angle), 2e-6) << i;
    if (i + 1 == count) break;
    EXPECT_NEAR(z[first + 1], radius * std::sin(angle), 2e-6) << i;
  }
}

TEST(Random, SineAndCosineOfTurns) {
  for (uint32_t i = 0; i <= 1u << 24; i += 37) {
    const float x = static_cast<float>(i) * 0x1p-24f;
    const scalar::SineCosine<float> got = scalar::sine_cosine_of_turns(x);
    const double quarter = std::remainder(4.0 * x, 1.0);  // exact, so that zeros are too
    const int quadrant = static_cast<int>(4.0 * x - quarter);
    const double s = std::sin(quarter * M_PI_2), c = std::cos(quarter * M_PI_2);
    const double sine[] = {s, c, -s, -c, s};
    const double cosine[] = {c, -s, -c, s, c};
    ASSERT_NEAR(got.sine, sine[quadrant], 0x1p-22 * std::abs(sine[quadrant])) << x;
    ASSERT_NEAR(got.cosine, cosine[quadrant], 0x1p-22 * std::abs(cosine[quadrant])) << x;
  }
}

TEST(Generator, SameSeedSameNumbers) {
  Generator a(7), b(7), c(8), d(7, 1);
  const std::vector<float> first = randn({100}, {}, &a).to_vector<float>();
  EXPECT_EQ(first, randn({100}, {}, &b).to_vector<float>());
  EXPECT_NE(first, randn({100}, {}, &c).to_vector<float>());
  EXPECT_NE(first, randn({100}, {}, &d).to_vector<float>());
  EXPECT_NE(first, randn({100}, {}, &a).to_vector<float>());
}

TEST(Generator, StateIsSavedAndRestored) {
  Generator generator(3, 9);
  rand({37}, {}, &generator);
  const GeneratorState state = generator.state();
  const std::vector<double> next = rand({11}, {.dtype = f64}, &generator).to_vector<double>();
  Generator other;
  other.restore(state);
  EXPECT_EQ(next, rand({11}, {.dtype = f64}, &other).to_vector<double>());
  EXPECT_EQ(generator.state(), other.state());
}

TEST(Random, ThreadsAndStridesDontMatter) {
  const int threads = get_num_threads();
  std::vector<float> expected;
  for (int count : {1, 2, 3}) {
    set_num_threads(count);
    Generator generator(11);
    const std::vector<float> values = randn({100001}, {}, &generator).to_vector<float>();
    if (count == 1) expected = values;
    EXPECT_EQ(values, expected);
  }
  set_num_threads(threads);
  Generator a(4), b(4);
  const Tensor plain = rand({30, 20}, {}, &a);
  const Tensor strided = empty({20, 30}).t();
  uniform_(strided, 0, 1, &b);
  EXPECT_EQ(plain.to_vector<float>(), strided.to_vector<float>());
}

// Every bin of a uniform fill holds its share; chi-square with 63 degrees of freedom stays below
// 130 with probability 1 - 1e-6.
template <class T>
double chi_square(const Tensor& values, double low, double high) {
  std::vector<double> bins(64);
  for (T value : values.to_vector<T>()) {
    bins[static_cast<size_t>(64 * (static_cast<double>(value) - low) / (high - low))] += 1;
  }
  const double share = static_cast<double>(values.numel()) / 64;
  double sum = 0;
  for (double count : bins) sum += (count - share) * (count - share) / share;
  return sum;
}

TEST(Random, UniformIsUniformInEveryDtype) {
  Generator generator(1);
  for (DType dtype : {f32, f64, f16, bf16}) {
    const Tensor values = rand({64000}, {.dtype = dtype}, &generator);
    EXPECT_EQ(values.dtype(), dtype);
    EXPECT_LT(chi_square<double>(values, 0, 1), 130) << name(dtype);
    for (double value : values.to_vector<double>()) {
      ASSERT_GE(value, 0);
      ASSERT_LT(value, 1);
    }
  }
}

TEST(Random, NormalHasTheMomentsAndTails) {
  Generator generator(2);
  for (DType dtype : {f32, f64}) {
    const std::vector<double> z =
        randn({1000000}, {.dtype = dtype}, &generator).to_vector<double>();
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, beyond_two = 0;
    for (double x : z) {
      m1 += x, m2 += x * x, m3 += x * x * x, m4 += x * x * x * x;
      beyond_two += std::fabs(x) > 2;
    }
    const double n = static_cast<double>(z.size());
    EXPECT_NEAR(m1 / n, 0, 5e-3);
    EXPECT_NEAR(m2 / n, 1, 7e-3);
    EXPECT_NEAR(m3 / n, 0, 2e-2);
    EXPECT_NEAR(m4 / n, 3, 6e-2);
    EXPECT_NEAR(beyond_two / n, std::erfc(std::sqrt(2.0)), 1e-3);
  }
}

TEST(Random, NormalScalesAndShifts) {
  Generator a(6), b(6);
  const std::vector<double> z = randn({100}, {.dtype = f64}, &a).to_vector<double>();
  const Tensor scaled = normal_(empty({100}, {.dtype = f64}), 3, 0.5, &b);
  for (int64_t i = 0; i < 100; ++i)
    EXPECT_DOUBLE_EQ(scaled.at<double>({i}), 3 + 0.5 * z[static_cast<size_t>(i)]);
}

TEST(Random, IntegersAreTheSameInEveryDtype) {
  Generator a(12), b(12), c(12);
  const Tensor wide = randint(-3, 12, {5000}, {}, &a);
  EXPECT_EQ(wide.dtype(), i64);
  EXPECT_EQ(wide.to_vector<int64_t>(),
            randint(-3, 12, {5000}, {.dtype = i32}, &b).to_vector<int64_t>());
  EXPECT_EQ(wide.to_vector<int64_t>(),
            randint(-3, 12, {5000}, {.dtype = f32}, &c).to_vector<int64_t>());
  std::set<int64_t> seen;
  for (int64_t value : wide.to_vector<int64_t>()) seen.insert(value);
  EXPECT_EQ(seen.size(), 15u);
  EXPECT_EQ(*seen.begin(), -3);
  EXPECT_EQ(*seen.rbegin(), 11);
  EXPECT_LT(chi_square<int64_t>(randint(64, {64000}, {}, &a), 0, 64), 130);
}

TEST(Random, PermutationHoldsEveryNumberOnce) {
  Generator generator(13);
  std::vector<int64_t> order = randperm(1000, {}, &generator).to_vector<int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_EQ(randperm(0).numel(), 0);
  // Each of the six orders of three comes up about as often.
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[randperm(3, {}, &generator).to_vector<int64_t>()];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [permutation, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, BernoulliFollowsTheProbabilities) {
  Generator generator(14);
  const Tensor p = tensor({0.0, 0.25, 1.0}).view({3, 1}).expand({3, 40000}).contiguous();
  const std::vector<float> hits = bernoulli(p, &generator).to_vector<float>();
  double sums[3] = {};
  for (size_t i = 0; i < hits.size(); ++i) sums[i / 40000] += hits[i];
  EXPECT_EQ(sums[0], 0);
  EXPECT_NEAR(sums[1], 10000, 450);
  EXPECT_EQ(sums[2], 40000);
  const Tensor flags = bernoulli_(empty({1000}, {.dtype = boolean}), 0.5, &generator);
  const std::vector<int> ones = flags.to_vector<int>();
  EXPECT_NEAR(std::accumulate(ones.begin(), ones.end(), 0), 500, 80);
}

TEST(Random, MultinomialDrawsByWeight) {
  Generator generator(15);
  const Tensor weights = tensor({{1.0, 0.0, 3.0}, {0.0, 5.0, 5.0}});
  const Tensor drawn = multinomial(weights, 40000, true, &generator);
  EXPECT_EQ(drawn.shape(), Shape({2, 40000}));
  double counts[2][3] = {};
  const std::vector<int64_t> index = drawn.to_vector<int64_t>();
  for (size_t i = 0; i < index.size(); ++i) ++counts[i / 40000][index[i]];
  EXPECT_NEAR(counts[0][0], 10000, 450);
  EXPECT_EQ(counts[0][1], 0);
  EXPECT_EQ(counts[1][0], 0);
  EXPECT_NEAR(counts[1][1], 20000, 550);
  // Without replacement: the first draw has the weights' shares, and no index comes twice.
  double first = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<int64_t> two =
        multinomial(weights[0], 2, false, &generator).to_vector<int64_t>();
    EXPECT_NE(two[0], two[1]);
    first += two[0] == 2;
  }
  EXPECT_NEAR(first, 3000, 150);
  // One draw of each row: their shares, and the same draws whatever the threads.
  const Tensor rows = weights[0].expand({30000, 3});
  const int before = get_num_threads();
  std::vector<std::vector<int64_t>> of_threads;
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    Generator again(16);
    of_threads.push_back(multinomial(rows, 1, false, &again).to_vector<int64_t>());
  }
  set_num_threads(before);
  EXPECT_EQ(of_threads[0], of_threads[1]);
  const auto count = [&](int64_t k) {
    return static_cast<double>(std::count(of_threads[0].begin(), of_threads[0].end(), k));
  };
  EXPECT_NEAR(count(0), 7500, 300);
  EXPECT_EQ(count(1), 0);
  EXPECT_NEAR(count(2), 22500, 300);
}

// Few of many: the first two of 100 that have all but a thousandth of the weight, and the order of
// three by theirs: P(1 before 2) is w1 / (w1 + w2) of what is left.
TEST(Random, FewOfManyWithoutReplacement) {
  constexpr int kRows = 20000;
  std::vector<double> values(100, 1e-5);
  values[7] = 3;
  values[50] = 1;
  const Tensor weights = tensor(values).expand({kRows, 100});
  Generator generator(17);
  const std::vector<int64_t> drawn =
      multinomial(weights, 3, false, &generator).to_vector<int64_t>();
  int first = 0;
  double rest = 0;
  for (size_t row = 0; row < kRows; ++row) {
    const int64_t* const three = &drawn[3 * row];
    EXPECT_EQ(std::set<int64_t>(three, three + 3).size(), 3u);
    if (three[0] == 7) ++first;
    rest += three[2] == 7 || three[2] == 50 ? 0 : static_cast<double>(three[2]);
  }
  EXPECT_NEAR(first, 0.75 * kRows, 250);
  EXPECT_NEAR(rest / kRows, (99 * 100 / 2 - 57) / 98.0, 1);  // the mean place of the others
  // Each of equal weights is among the five of 100 as often.
  std::vector<int> times(100);
  const Tensor equal = ones({kRows, 100});
  for (const int64_t place : multinomial(equal, 5, false, &generator).to_vector<int64_t>())
    ++times[static_cast<size_t>(place)];
  for (const int count : times) EXPECT_NEAR(count, kRows / 20, 150);
}

TEST(Random, BadInputIsNamed) {
  EXPECT_EQ(error_of([] { rand({2}, {.dtype = i64}); }),
            "rand: dtype must be floating or complex, got i64");
  EXPECT_EQ(error_of([] { randint(5, 5, {2}); }),
            "randint: low must be less than high, got 5 and 5");
  EXPECT_EQ(error_of([] { randint(0, 300, {2}, {.dtype = u8}); }),
            "randint: bounds must fit the dtype, got 0 and 300 for u8");
  EXPECT_EQ(error_of([] { bernoulli(tensor({1.5})); }),
            "bernoulli: probabilities must lie in [0, 1], got 1.5");
  EXPECT_EQ(
      error_of([] {
        multinomial(tensor({1.0, 0.0}), 2);
      }),
      "multinomial: without replacement there must be as many weights above 0 as samples, got 1 "
      "for 2");
  EXPECT_EQ(error_of([] {
              multinomial(tensor({-1.0, 2.0}), 1);
            }),
            "multinomial: weights must be finite and not negative, got -1");
  EXPECT_EQ(error_of([] { randperm(-1); }), "randperm: n can't be negative, got -1");
  EXPECT_EQ(error_of([] { randperm(257, {.dtype = u8}); }),
            "randperm: the dtype must hold every number below n, got 257 as u8");
  const auto bytes = randperm(256, {.dtype = u8}).to_vector<int64_t>();
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 255);
  EXPECT_EQ(
      error_of([] { uniform_(zeros({1}).expand({4})); }),
      "uniform_: a tensor whose elements share memory can't be written; clone it first, got [4] "
      "with strides [0]");
}

TEST(Random, ZeroSizedAndZeroDimensional) {
  EXPECT_EQ(rand({0, 3}).numel(), 0);
  EXPECT_EQ(randn({}).dim(), 0);
  Generator generator(1);
  const GeneratorState before = generator.state();
  rand({0}, {}, &generator);
  EXPECT_EQ(generator.state(), before);
}

}  // namespace
TEST(Random, LikeAnotherUnlessTheOptionsSayOtherwise) {
  const Tensor like = ones({2, 3}, {.dtype = bf16});
  EXPECT_EQ(rand_like(like).dtype(), bf16);
  EXPECT_EQ(randn_like(like, {.dtype = f64}).dtype(), f64);
  EXPECT_TRUE(rand_like(like, {.requires_grad = true}).requires_grad());
  EXPECT_TRUE(randn_like(like, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(rand_like(like, {.device = "cpu:1"}).device(), Device("cpu:1"));
  const Tensor dice = randint_like(like, 6, {.dtype = i64});
  EXPECT_EQ(dice.dtype(), i64);
  for (const int64_t number : dice.to_vector<int64_t>()) EXPECT_TRUE(number >= 0 && number < 6);
  Generator a(4), b(4);
  EXPECT_EQ(randint_like(like, 2, 9, {.dtype = i32}, &a).to_vector<int>(),
            randint(2, 9, {2, 3}, {.dtype = i32}, &b).to_vector<int>());
}

}  // namespace aorta
