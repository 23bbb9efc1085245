#pragma once

#include <aorta/core/ops/complex.h>
#include <aorta/tests/catalog/rows.h>

// Samples of complex tensors hold their parts (*, 2), and so do results.
namespace aorta::catalog {

/// Errors go with the largest number of a result.
inline constexpr Tolerance kParts{.ulps = 4, .ulps_f64 = 4, .sums = 16, .zero_signs = false};

/// Half types, which have no complex dtype, as f32: the ops refuse them.
inline Tensor wide(const Tensor& x) {
  return x.defined() && is_half(x.dtype()) && !keeps_complex ? x.to(f32) : x;
}
/// Parts as a complex tensor; of integers, the first of them.
inline Tensor z(const Tensor& given) {
  if (!given.defined()) return given;
  const Tensor x = real(wide(given));
  return is_floating(x.dtype()) ? view_as_complex(x.clone(MemoryFormat::contiguous))
                                : x.select(-1, 0);
}
/// At an even offset, which a contiguous one may not have.
inline Tensor dense(const Tensor& x) { return x.defined() ? x.clone(MemoryFormat::contiguous) : x; }
/// The parts of complex results.
inline Tensors parts(const Tensors& results) {
  Tensors real;
  for (const Tensor& result : results)
    real.push_back(result.is_complex() && !keeps_complex ? view_as_real(result) : result);
  return real;
}

}  // namespace aorta::catalog
