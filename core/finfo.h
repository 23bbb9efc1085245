#pragma once

#include <aorta/core/dtype.h>

#include <cstdint>

namespace aorta {

/// What numbers of a floating dtype can be; PyTorch's fields.
struct FloatInfo {
  int bits;           // of an element
  double eps;         // the distance from 1 to the next number
  double max, min;    // the largest number, and -max
  double tiny;        // the smallest positive one of full precision
  double resolution;  // a power of ten: numbers differ that differ by this share
};
/// What integers of a dtype can be.
struct IntInfo {
  int bits;
  int64_t max, min;
};

/// The numbers of a floating dtype; of a complex one's parts. Errors: "finfo: dtype must be
/// floating or complex, got i64".
FloatInfo finfo(DType dtype);
/// The integers of a dtype. Errors: "iinfo: dtype must be of integers, got bool".
IntInfo iinfo(DType dtype);

}  // namespace aorta
