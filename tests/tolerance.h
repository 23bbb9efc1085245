#pragma once

#include <aorta/tests/op_catalog.h>

namespace aorta::catalog {

/// True when every value of `values` (f64, i64 or bool) is exact in `dtype`, of the same kind.
bool is_exact(const Tensor& values, DType dtype);

/// What is wrong with `result`, or nothing: its shape, or the first element that is further from
/// `wanted` than allowed. Integers and bools must be equal, NaN meets NaN, and zeros have their
/// sign unless `scale` is given. `wanted` is rounded to the result's dtype.
std::string compare(const Tensor& result, const Tensor& wanted, const Tensor& scale,
                    const Tolerance& tolerance);

}  // namespace aorta::catalog
