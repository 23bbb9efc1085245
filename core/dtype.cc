#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/dtype.h>

#include <algorithm>

namespace aorta {

const char* name(DType dtype) {
  constexpr const char* names[kDTypeCount] = {"f32", "f64", "f16",  "bf16", "i64",
                                              "i32", "u8",  "bool", "c64",  "c128"};
  return names[static_cast<int>(dtype)];
}

std::string to_string(DType dtype) { return name(dtype); }

void check_floating(const char* op, DType dtype) {
  check(is_floating(dtype), op, "dtype must be floating", dtype);
}

void detail::refuse_complex(DType dtype) {
  fail(called_op() ? called_op() : "dtype", "dtype must be real", dtype);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_half(a) && is_half(b)) return DType::f32;
  if (is_complex(a) || is_complex(b))
    return complex_dtype(a) == DType::c128 ? DType::c128 : complex_dtype(b);
  constexpr int rank[] = {6, 7, 4, 5, 3, 2, 1, 0};
  return rank[static_cast<int>(a)] > rank[static_cast<int>(b)] ? a : b;
}

}  // namespace aorta
