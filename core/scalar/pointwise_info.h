#pragma once

// What the engines need to know about a pointwise op besides its arithmetic.

#include <aorta/core/host_device.h>

#include <cstdint>
#include <type_traits>

namespace aorta::scalar {

/// The input dtypes that an op takes.
enum class Accept : uint8_t { any, numeric /*no bool*/, floating, integral /*ints and bool*/ };

/// The type that an op computes in: the promoted input dtype, or that with integers made the
/// default float first.
enum class Compute : uint8_t { promote, promote_to_float };

/// The dtype of the result: the compute dtype, or bool.
enum class Result : uint8_t { same, boolean };

/// What autocast casts half types to before the op.
enum class AutocastTo : uint8_t { nothing, f32 };

/// Name (as in PyTorch) and dtype policy of a pointwise op.
struct PointwiseInfo {
  const char* name;
  Accept accept;
  Compute compute;
  Result result;
  AutocastTo autocast = AutocastTo::nothing;
};

/// A function whose range or slope a half type doesn't hold.
constexpr PointwiseInfo in_f32(PointwiseInfo info) {
  info.autocast = AutocastTo::f32;
  return info;
}

/// A function of real numbers: takes every dtype, computes in floating point.
constexpr PointwiseInfo real_function(const char* name) {
  return {name, Accept::any, Compute::promote_to_float, Result::same};
}

/// A function of floating tensors alone.
constexpr PointwiseInfo floating_function(const char* name) {
  return {name, Accept::floating, Compute::promote, Result::same};
}

/// A function of every dtype but bool, computed in that dtype.
constexpr PointwiseInfo numeric_function(const char* name) {
  return {name, Accept::numeric, Compute::promote, Result::same};
}

/// A question about values of any dtype, answered with bool.
constexpr PointwiseInfo predicate(const char* name) {
  return {name, Accept::any, Compute::promote, Result::boolean};
}

/// A function of the bits of integers and bool.
constexpr PointwiseInfo bitwise_function(const char* name) {
  return {name, Accept::integral, Compute::promote, Result::same};
}

/// A parameter such as `alpha` or `min` that is exact in every compute type: it is built from an
/// integer or a double and keeps both forms (a double is truncated and saturated to int64).
class Number {
 public:
  constexpr Number(double value) : real_(value), integer_(saturate(value)) {}
  constexpr Number(float value) : Number(static_cast<double>(value)) {}
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  constexpr Number(I value)
      : real_(static_cast<double>(value)), integer_(static_cast<int64_t>(value)) {}

  /// The value in compute type T.
  template <class T>
  AORTA_INLINE T to() const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(integer_);
    else
      return static_cast<T>(real_);
  }

  /// The value as a bound to compare with: an integer out of T's range becomes the end of it.
  template <class T>
  AORTA_INLINE T bound() const {
    if constexpr (std::is_same_v<T, int32_t>)
      return static_cast<T>(integer_ < INT32_MIN   ? INT32_MIN
                            : integer_ > INT32_MAX ? INT32_MAX
                                                   : integer_);
    else if constexpr (std::is_same_v<T, uint8_t>)
      return static_cast<T>(integer_ < 0 ? 0 : integer_ > UINT8_MAX ? UINT8_MAX : integer_);
    else
      return to<T>();
  }

 private:
  static constexpr int64_t saturate(double value) {
    constexpr double limit = 9223372036854775808.0;
    if (value >= limit) return INT64_MAX;
    if (value < -limit) return INT64_MIN;
    return value == value ? static_cast<int64_t>(value) : 0;
  }

  double real_;
  int64_t integer_;
};

}  // namespace aorta::scalar
