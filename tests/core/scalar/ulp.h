#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace aorta::scalar_test {

/// The distance of `got` from the exact value `want`, in units of the last place of a float at
/// `want` (2^-149 for denormals). Infinity counts as 2^128. Infinite where one is NaN and the other
/// isn't, where a zero has the wrong sign, and where `want` is beyond the largest float and `got`
/// is not infinite.
inline double ulp_error(float got, double want) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : wrong;
  const double size = std::abs(want);
  if (size >= 0x1.ffffffp127) {  // rounds to infinity
    if (std::isinf(got)) return std::signbit(got) == std::signbit(want) ? 0 : wrong;
    return std::isinf(want) ? wrong : std::abs(static_cast<double>(got) - want) / 0x1p104;
  }
  const double value = std::isinf(got) ? std::copysign(0x1p128, got) : static_cast<double>(got);
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(size) >> 52) - 1023 - 23;
  return std::abs(value - want) * std::ldexp(1.0, exponent < -149 ? 149 : -exponent);
}

/// Counts units of the last place of `want`, a double rounded from the exact value.
inline double ulp_error(double got, double want) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (want == got) return want != 0 || std::signbit(want) == std::signbit(got) ? 0 : wrong;
  if (std::isinf(want) || std::isinf(got)) return wrong;
  return std::abs(got - want) / (std::nextafter(std::abs(want), HUGE_VAL) - std::abs(want));
}

}  // namespace aorta::scalar_test
