#include <aorta/cuda/fast_division.h>

#include <gtest/gtest.h>

#include <initializer_list>

using aorta::cuda::Divisor;
using aorta::cuda::FastDivisor;

// Every quotient near a multiple of the divisor, for divisors of all sizes, against the machine's.
TEST(FastDivisor, IsDivision) {
  constexpr uint32_t limit = 0x7fffffffu;
  uint32_t divisors = 0;
  for (uint64_t d = 1; d <= limit; d = d < 300 ? d + 1 : d + d / 7 + 1) {
    const uint32_t divisor = static_cast<uint32_t>(d);
    const FastDivisor fast(divisor);
    ++divisors;
    for (uint64_t multiple = 0; multiple <= limit; multiple += 1 + (multiple / d / 5 + 1) * d) {
      for (int64_t step : {-1, 0, 1}) {
        const int64_t n = static_cast<int64_t>(multiple / d * d) + step;
        if (n < 0 || n > limit) continue;
        uint32_t quotient = static_cast<uint32_t>(n);
        const uint32_t remainder = fast.split(quotient);
        ASSERT_EQ(quotient, n / static_cast<int64_t>(d)) << n << " / " << d;
        ASSERT_EQ(remainder, n % static_cast<int64_t>(d)) << n << " % " << d;
      }
    }
    ASSERT_EQ(fast.divide(limit), limit / divisor);
  }
  EXPECT_GT(divisors, 300u);
}

TEST(FastDivisor, BoundaryDivisors) {
  for (uint32_t divisor : {1u, 2u, 3u, 65535u, 65536u, 65537u, 0x3fffffffu, 0x40000000u,
                           0x40000001u, 0x7ffffffeu, 0x7fffffffu}) {
    const FastDivisor fast(divisor);
    for (uint32_t n : {0u, 1u, divisor - 1, divisor, 0x7ffffffeu, 0x7fffffffu}) {
      EXPECT_EQ(fast.divide(n), n / divisor) << n << " / " << divisor;
    }
  }
}

// Fast where dividends stay below 2^31, and right beyond.
TEST(Divisor, IsDivision) {
  for (const int64_t divisor : {int64_t{1}, int64_t{7}, int64_t{0x7fffffff}, int64_t{1} << 33}) {
    for (const int64_t largest : {int64_t{0x7fffffff}, int64_t{1} << 31, int64_t{1} << 50}) {
      const Divisor by(divisor, largest);
      for (const int64_t n : {int64_t{0}, int64_t{6}, int64_t{7}, largest / 3, largest - 1}) {
        int64_t quotient = n;
        EXPECT_EQ(by.split(quotient), n % divisor) << n << " % " << divisor;
        EXPECT_EQ(quotient, n / divisor) << n << " / " << divisor;
      }
    }
  }
}
