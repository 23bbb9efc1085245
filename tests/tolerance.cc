#include <aorta/core/ops/view.h>
#include <aorta/tests/tolerance.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace aorta::catalog {
namespace {

struct Format {
  int digits;        // bits of the significand
  int min_exponent;  // of the smallest normal number
  double largest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {11, -14, 65504.0};
    case DType::bf16:
      return {8, -126, 0x1.fep127};
    case DType::f32:
      return {24, -126, 0x1.fffffep127};
    default:
      return {53, -1022, std::numeric_limits<double>::max()};
  }
}

// `value` to nearest even in the dtype, without a library's conversion.
double rounded(double value, DType dtype) {
  if (dtype == DType::f64 || !std::isfinite(value) || value == 0) return value;
  const Format format = format_of(dtype);
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const double unit = std::ldexp(1.0, exponent - format.digits + 1);
  const double result = std::nearbyint(value / unit) * unit;
  if (std::abs(result) > format.largest) return std::copysign(INFINITY, value);
  return std::copysign(result, value);
}

// The distance between neighbours at `value`.
double unit_at(double value, DType dtype) {
  const Format format = format_of(dtype);
  const double magnitude = std::min(std::abs(value), format.largest);
  const int exponent =
      magnitude == 0 ? format.min_exponent : std::max(std::ilogb(magnitude), format.min_exponent);
  return std::ldexp(1.0, exponent - format.digits + 1);
}

std::string describe(size_t i, double got, double wanted, double allowed) {
  char text[160];
  std::snprintf(text, sizeof text, "element %zu is %.17g (%a), wanted %.17g within %.3g", i, got,
                got, wanted, allowed);
  return text;
}

bool is_near(double got, double wanted, double allowed, double largest, bool signed_zero) {
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got);
  if (got == wanted) return got != 0 || !signed_zero || std::signbit(got) == std::signbit(wanted);
  if (std::isinf(wanted) || std::isinf(got)) {
    // Next to the largest number, an error of an ulp may or may not overflow.
    return allowed > 0 && std::signbit(got) == std::signbit(wanted) &&
           std::min(std::abs(got), std::abs(wanted)) >= largest - allowed;
  }
  return std::abs(got - wanted) <= allowed;
}

}  // namespace

bool is_exact(const Tensor& values, DType dtype) {
  if (values.dtype() == DType::boolean) return dtype == DType::boolean;
  if (values.dtype() == DType::i64) {
    if (!is_integral(dtype)) return false;
    const std::vector<int64_t> numbers = values.to_vector<int64_t>();
    return std::all_of(numbers.begin(), numbers.end(), [&](int64_t x) {
      return dtype == DType::i64 ||
             (dtype == DType::i32 ? x == static_cast<int32_t>(x) : x >= 0 && x < 256);
    });
  }
  if (!is_floating(dtype)) return false;
  const std::vector<double> numbers = values.to_vector<double>();
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](double x) { return std::isnan(x) || rounded(x, dtype) == x; });
}

std::string compare(const Tensor& result, const Tensor& wanted, const Tensor& scale,
                    const Tolerance& tolerance) {
  if (result.shape() != wanted.shape())
    return "shape " + to_string(result.shape()) + ", wanted " + to_string(wanted.shape());
  const DType dtype = result.dtype();
  if (is_floating(wanted.dtype()) != is_floating(dtype))
    return std::string("dtype ") + name(dtype) + ", wanted values of " + name(wanted.dtype());
  if (!is_floating(dtype)) {
    // The fixture holds integers as i64; a narrower dtype wraps around.
    const std::vector<int64_t> a = result.to_vector<int64_t>(),
                               b = wanted.to(dtype).to_vector<int64_t>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i])
        return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", wanted " +
               std::to_string(b[i]);
    }
    return "";
  }
  const std::vector<double> a = result.to_vector<double>(), b = wanted.to_vector<double>();
  const std::vector<double> sums =
      scale.defined() ? scale.to_vector<double>() : std::vector<double>();
  const double ulps = dtype == DType::f64 ? tolerance.ulps_f64
                      : is_half(dtype)    ? (tolerance.ulps > 0 || tolerance.sums > 0 ? 1.0 : 0.0)
                                          : tolerance.ulps;
  const double roundoff = dtype == DType::f64 ? 0x1p-53 : 0x1p-24;  // half types compute in f32
  for (size_t i = 0; i < a.size(); ++i) {
    const double want = rounded(b[i], dtype);
    const double unit = unit_at(b[i], dtype);
    double allowed =
        ulps * unit + (sums.empty() ? 0 : tolerance.sums * roundoff * std::abs(sums[i]));
    if (is_half(dtype) && !sums.empty())
      allowed += tolerance.half_sums * std::ldexp(std::abs(sums[i]), -format_of(dtype).digits);
    allowed += tolerance.tiny * std::ldexp(1.0, format_of(dtype).min_exponent);
    const double largest = format_of(dtype).largest;
    if (!is_near(a[i], want, allowed, largest, tolerance.zero_signs && !scale.defined()))
      return describe(i, a[i], want, allowed);
  }
  return "";
}

}  // namespace aorta::catalog
