#pragma once

#include <aorta/core/dtype.h>

#include <limits>
#include <type_traits>

namespace aorta {

/// A number that stands beside tensors in an expression: `x + 2`, `full({3}, 0.5)`. Like PyTorch's
/// Python numbers it takes part in type promotion only by its kind (bool, integer, floating,
/// complex).
class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, floating, complex };

  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  constexpr Scalar(T value)  // NOLINT: implicit, so that `x + 2` reads as it should
      : kind_(std::is_same_v<T, bool> ? Kind::boolean
              : std::is_integral_v<T> ? Kind::integer
                                      : Kind::floating) {
    if constexpr (std::is_floating_point_v<T>) {
      floating_ = static_cast<double>(value);
    } else {
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
        if (value > static_cast<T>(INT64_MAX)) too_large(value);
      }
      integer_ = static_cast<int64_t>(value);
    }
  }
  template <detail::ComplexNumber T>
  constexpr Scalar(const T& value)  // NOLINT: implicit
      : kind_(Kind::complex), imaginary_(value.imag()) {
    floating_ = value.real();
  }

  Kind kind() const { return kind_; }
  bool is_floating() const { return kind_ == Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_complex() const { return kind_ == Kind::complex; }

  /// The parts of the value as doubles.
  double real() const { return is_complex() ? floating_ : to_double(); }
  double imag() const { return imaginary_; }
  /// The value as a double, rounded when an integer above 2^53. A complex one is refused.
  double to_double() const {
    if (is_floating()) return floating_;
    if (is_complex()) [[unlikely]]
      not_real();
    return static_cast<double>(integer_);
  }
  /// The value as an integer, a floating one cut towards zero (saturated; NaN gives 0).
  int64_t to_int() const {
    if (is_complex()) [[unlikely]]
      not_real();
    if (!is_floating()) return integer_;
    if (!(floating_ > -0x1p63)) return floating_ == floating_ ? INT64_MIN : 0;
    return floating_ < 0x1p63 ? static_cast<int64_t>(floating_) : INT64_MAX;
  }
  /// The number among C++'s own: `if (loss.item() < best) best = loss.item();`. A complex one is
  /// refused, and an integer beyond 2^53, which to_double() would round.
  operator double() const {
    constexpr int64_t kMost = int64_t{1} << 53;
    if ((kind_ == Kind::integer && (integer_ > kMost || integer_ < -kMost))) [[unlikely]]
      not_exact();
    return to_double();
  }
  bool to_bool() const {
    return is_floating() || is_complex() ? floating_ != 0 || imaginary_ != 0 : integer_ != 0;
  }

  /// The dtype that the number alone would become: c64, f32, i64 or bool.
  DType dtype() const {
    return is_complex()    ? DType::c64
           : is_floating() ? DType::f32
           : is_boolean()  ? DType::boolean
                           : DType::i64;
  }

 private:
  [[noreturn]] static void too_large(uint64_t value);
  [[noreturn]] void not_real() const;
  [[noreturn]] void not_exact() const;
  Kind kind_;
  union {
    double floating_;
    int64_t integer_;
  };
  double imaginary_ = 0;
};

/// The number as text: "2.5", "3", "true", "1+2j".
std::string to_string(const Scalar& value);

namespace detail {
template <class T>
inline constexpr double largest = static_cast<double>(std::numeric_limits<T>::max());
template <>
inline constexpr double largest<Half> = 65504;
template <>
inline constexpr double largest<BFloat16> = 0x1.fep127;
}  // namespace detail

/// Whether T (bool, an integer, floating or complex type) takes the number, a fraction cut: the
/// rule of every op and of item(). As in PyTorch, bool takes all that is real, a floating type
/// takes infinity and NaN but nothing finite beyond its range, and an unsigned one takes a negative
/// integer for what it is modulo 2^bits.
template <class T>
bool fits(const Scalar& value) {
  if constexpr (detail::ComplexNumber<T>) {
    using Part = typename T::value_type;
    return fits<Part>(value.real()) && fits<Part>(value.imag());
  } else if (value.is_complex()) {
    return false;
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (value.is_floating()) {
      const double x = value.to_double(), most = detail::largest<T>;
      // The maximum of a type of 64 bits rounds up to a power of two, which it hasn't.
      return x >= static_cast<double>(Limits::min()) && (sizeof(T) < 8 ? x <= most : x < most);
    }
    const int64_t n = value.to_int();
    if constexpr (std::is_signed_v<T>) {
      return n >= Limits::min() && n <= Limits::max();
    } else {
      const uint64_t magnitude = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
      return magnitude <= Limits::max();
    }
  } else {
    const double x = value.to_double(), most = detail::largest<T>;
    return !(x < -most || x > most) || x - x != 0;
  }
}
bool fits(const Scalar& value, DType dtype);

/// Throws `op: the value must fit the dtype, got 300 for u8`.
void check_fits(const char* op, const Scalar& value, DType dtype);

}  // namespace aorta
