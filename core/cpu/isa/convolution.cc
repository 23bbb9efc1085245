// Loops around the matrix products of convolutions.

#include <aorta/core/cpu/convolution.h>

#include <aorta/core/cpu/isa/half_row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class T>
AORTA_INLINE void add_row(T* to, const T* from, const T* bias, int64_t columns) {
  if (bias) {
    for (int64_t j = 0; j < columns; ++j) to[j] = from[j] + bias[j];
  } else {
    for (int64_t j = 0; j < columns; ++j) to[j] = from[j];
  }
}

template <class H>
AORTA_INLINE void store_half_row(H* to, const float* from, const float* bias, int64_t columns) {
  float block[kHalfBlock];
  for (int64_t j = 0; j < columns; j += kHalfBlock) {
    const int count = columns - j < kHalfBlock ? static_cast<int>(columns - j) : kHalfBlock;
    add_row(block, from + j, bias ? bias + j : nullptr, count);
    if (count == kHalfBlock) {
      narrow(to + j, block);
    } else {
      for (int i = 0; i < count; ++i) to[j + i] = H(block[i]);
    }
  }
}

template <class T, class Sum>
void store_rows(const SumRows& r) {
  for (int64_t i = 0; i < r.rows; ++i) {
    T* const to = static_cast<T*>(r.output) + r.offsets[i];
    const Sum* const from = static_cast<const Sum*>(r.sums) + i * r.sum_stride;
    const Sum* const bias = static_cast<const Sum*>(r.bias);
    if constexpr (sizeof(T) == 2)
      store_half_row(to, from, bias, r.columns);
    else
      add_row(to, from, bias, r.columns);
  }
}

}  // namespace

void store_sums(const SumRows& rows) {
  switch (rows.dtype) {
    case DType::f64:
      return store_rows<double, double>(rows);
    case DType::f16:
      return store_rows<Half, float>(rows);
    case DType::bf16:
      return store_rows<BFloat16, float>(rows);
    default:
      return store_rows<float, float>(rows);
  }
}

}  // namespace aorta::cpu::AORTA_ISA
