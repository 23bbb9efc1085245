#pragma once

#include <aorta/core/scalar/convert.h>

#include <type_traits>

namespace aorta::cpu {

/// The type that elements of T are computed in, as compute_dtype says of dtypes.
template <class T>
using Compute = std::conditional_t<scalar::is_half_type<T>, float, T>;

}  // namespace aorta::cpu
