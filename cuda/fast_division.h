#pragma once

#include <aorta/core/host_device.h>
#include <aorta/cuda/limits.h>

#include <cstdint>

namespace aorta::cuda {

/// Division by a number known before the kernel starts, as a multiplication: for n < 2^31 and a
/// divisor in [1, 2^31), n / d = (n * m / 2^32 + n) / 2^s with s = ceil(log2 d) and
/// m = floor(2^32 (2^s - d) / d) + 1. (Granlund & Montgomery, "Division by invariant integers using
/// multiplication", 1994.)
class FastDivisor {
 public:
  FastDivisor() = default;
  explicit FastDivisor(uint32_t divisor) : divisor_(divisor) {
    while (shift_ < 31 && (uint32_t{1} << shift_) < divisor) ++shift_;
    const uint64_t power = uint64_t{1} << shift_;
    multiplier_ = static_cast<uint32_t>(((power - divisor) << 32) / divisor + 1);
  }

  AORTA_INLINE uint32_t divide(uint32_t n) const {
    const uint32_t high = static_cast<uint32_t>((uint64_t{n} * multiplier_) >> 32);
    return (high + n) >> shift_;
  }
  /// n becomes the quotient; the remainder comes back.
  AORTA_INLINE uint32_t split(uint32_t& n) const {
    const uint32_t quotient = divide(n);
    const uint32_t remainder = n - quotient * divisor_;
    n = quotient;
    return remainder;
  }

 private:
  uint32_t divisor_ = 1;
  uint32_t multiplier_ = 1;
  uint32_t shift_ = 0;
};

/// Division of any dividends: fast where none reaches the limit of 32 bits (limits.h).
class Divisor {
 public:
  Divisor() = default;
  Divisor(int64_t divisor, int64_t largest_dividend)
      : narrow_(largest_dividend < limits().elements && divisor < limits().elements),
        divisor_(divisor) {
    if (narrow_) fast_ = FastDivisor(static_cast<uint32_t>(divisor));
  }
  /// n becomes the quotient; the remainder comes back.
  AORTA_INLINE int64_t split(int64_t& n) const {
    if (narrow_) {
      uint32_t rest = static_cast<uint32_t>(n);
      const uint32_t remainder = fast_.split(rest);
      n = rest;
      return remainder;
    }
    const int64_t remainder = n % divisor_;
    n /= divisor_;
    return remainder;
  }

 private:
  bool narrow_ = true;
  int64_t divisor_ = 1;
  FastDivisor fast_;
};

}  // namespace aorta::cuda
