#pragma once

// The one list of reducers: the kernels of every device are made by iterating it.

#include <aorta/core/scalar/op_list.h>
#include <aorta/core/scalar/reduce_statistics.h>

namespace aorta::scalar {

using ReduceOps =
    TypeList<Sum, Mean, Prod, Min, Max, ArgMin, ArgMax, Any, All, CountNonzero, Moments, LogSumExp,
             Norm0, Norm1, Norm2, NormP, NormInfinity, NormMinusInfinity>;

/// The place of reducer R in ReduceOps.
template <class R, class... Rs>
constexpr int reducer_index(TypeList<Rs...>) {
  int index = 0;
  bool found = false;
  ((found = found || std::is_same_v<R, Rs>, index += found ? 0 : 1), ...);
  return index;
}
template <class R>
inline constexpr int reducer_id = reducer_index<R>(ReduceOps{});

/// True when reducer R takes elements of C++ type T.
template <class R, class T>
constexpr bool reduces() {
  return std::is_floating_point_v<T> || R::accept == Accept::any;
}

/// use(reducer) for the p-norm.
template <class Use>
auto with_norm(double p, const Use& use) {
  if (p == 0) return use(Norm0{});
  if (p == 1) return use(Norm1{});
  if (p == 2) return use(Norm2{});
  if (isinf(p)) return p > 0 ? use(NormInfinity{}) : use(NormMinusInfinity{});
  NormP reducer;
  reducer.p = p;
  return use(reducer);
}

}  // namespace aorta::scalar
