#pragma once

#include <aorta/core/dtype.h>

#include <type_traits>

namespace aorta {

/// A number that stands beside tensors in an expression: `x + 2`, `full({3}, 0.5)`. Like PyTorch's
/// Python numbers it takes part in type promotion only by its kind (bool, integer, floating).
class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, floating };

  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  constexpr Scalar(T value)  // NOLINT: implicit, so that `x + 2` reads as it should
      : kind_(std::is_same_v<T, bool> ? Kind::boolean
              : std::is_integral_v<T> ? Kind::integer
                                      : Kind::floating) {
    if constexpr (std::is_floating_point_v<T>) {
      floating_ = static_cast<double>(value);
    } else {
      integer_ = static_cast<int64_t>(value);
    }
  }

  Kind kind() const { return kind_; }
  bool is_floating() const { return kind_ == Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }

  /// The value as a double, rounded when an integer above 2^53.
  double to_double() const { return is_floating() ? floating_ : static_cast<double>(integer_); }
  /// The value as an integer, a floating one cut towards zero (saturated; NaN gives 0).
  int64_t to_int() const {
    if (!is_floating()) return integer_;
    if (!(floating_ > -0x1p63)) return floating_ == floating_ ? INT64_MIN : 0;
    return floating_ < 0x1p63 ? static_cast<int64_t>(floating_) : INT64_MAX;
  }
  bool to_bool() const { return is_floating() ? floating_ != 0 : integer_ != 0; }

  /// The dtype that the number alone would become: f32, i64 or bool.
  DType dtype() const {
    return is_floating() ? DType::f32 : is_boolean() ? DType::boolean : DType::i64;
  }

 private:
  Kind kind_;
  union {
    double floating_;
    int64_t integer_;
  };
};

std::string to_string(const Scalar& value);

}  // namespace aorta
