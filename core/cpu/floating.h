#pragma once

#include <aorta/core/dtype.h>

namespace aorta::cpu {

/// Calls f(T{}) with the type of a floating dtype, the half types among them.
template <class F>
void visit_floating(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    default:
      return f(float{});
  }
}

}  // namespace aorta::cpu
