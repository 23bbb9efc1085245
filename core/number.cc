#include <aorta/core/check.h>
#include <aorta/core/number.h>

namespace aorta {

void Scalar::too_large(uint64_t value) {
  fail("number", "an integer must be less than 2^63", value);
}

void Scalar::not_real() const { fail("number", "it must be real", *this); }
void Scalar::not_exact() const {
  fail("number", "an integer beyond 2^53 is no double: ask for item<int64_t>()", *this);
}

bool fits(const Scalar& value, DType dtype) {
  if (is_complex(dtype))
    return fits(value.real(), real_dtype(dtype)) && fits(value.imag(), real_dtype(dtype));
  return visit_dtype(dtype, [&](auto type) { return fits<decltype(type)>(value); });
}

void check_fits(const char* op, const Scalar& value, DType dtype) {
  check(fits(value, dtype), op, "the value must fit the dtype", value, " for ", dtype);
}

std::string to_string(const Scalar& value) {
  std::string text;
  if (value.is_complex()) {
    detail::append(text, value.real());
    std::string imaginary;
    detail::append(imaginary, value.imag());
    if (imaginary[0] != '-') text += '+';
    text += imaginary + 'j';
  } else if (value.is_floating())
    detail::append(text, value.to_double());
  else if (value.is_boolean())
    detail::append(text, value.to_bool());
  else
    detail::append(text, value.to_int());
  return text;
}

}  // namespace aorta
