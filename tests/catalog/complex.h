#pragma once

#include <aorta/core/ops/complex.h>
#include <aorta/tests/catalog/rows.h>

// Samples of complex tensors hold their parts (*, 2), and so do results.
namespace aorta::catalog {

/// Errors go with the largest number of a result.
inline constexpr Tolerance kParts{.ulps = 4, .ulps_f64 = 4, .sums = 16, .zero_signs = false};

/// Parts as a complex tensor; of a dtype that has no complex one, the first of them.
inline Tensor z(const Tensor& given) {
  if (!given.defined()) return given;
  const Tensor x = given.is_complex()       ? real(given)
                   : is_half(given.dtype()) ? given.to(f32)
                                            : given;
  return is_floating(x.dtype()) ? view_as_complex(x.clone(MemoryFormat::contiguous))
                                : x.select(-1, 0);
}
/// At an even offset, which a contiguous one may not have.
inline Tensor dense(const Tensor& x) { return x.defined() ? x.clone(MemoryFormat::contiguous) : x; }
/// Of a dtype that has a complex one.
inline Tensor wide(const Tensor& x) { return x.defined() && is_half(x.dtype()) ? x.to(f32) : x; }

/// The parts of complex results.
inline Tensors parts(const Tensors& results) {
  Tensors real;
  for (const Tensor& result : results)
    real.push_back(result.is_complex() && !keeps_complex ? view_as_real(result) : result);
  return real;
}

}  // namespace aorta::catalog
