#include <aorta/core/finfo.h>

#include <aorta/core/check.h>

#include <cstdint>

namespace aorta {

FloatInfo finfo(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::f32:
      return {32, 0x1p-23, 0x1.fffffep127, -0x1.fffffep127, 0x1p-126, 1e-6};
    case DType::f64:
      return {64, 0x1p-52, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, 0x1p-1022, 1e-15};
    case DType::f16:
      return {16, 0x1p-10, 65504, -65504, 0x1p-14, 1e-3};
    case DType::bf16:
      return {16, 0x1p-7, 0x1.fep127, -0x1.fep127, 0x1p-126, 1e-2};
    default:
      fail("finfo", "dtype must be floating or complex", dtype);
  }
}

IntInfo iinfo(DType dtype) {
  switch (dtype) {
    case DType::i64:
      return {64, INT64_MAX, INT64_MIN};
    case DType::i32:
      return {32, INT32_MAX, INT32_MIN};
    case DType::u8:
      return {8, UINT8_MAX, 0};
    default:
      fail("iinfo", "dtype must be of integers", dtype);
  }
}

}  // namespace aorta
