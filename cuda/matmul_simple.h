#pragma once

#include <aorta/core/ops/matmul.h>
#include <aorta/cuda/rows.h>

namespace aorta::cuda {

/// A matrix product of any dtype, a thread an element: for integers, for products over nothing, and
/// for what cuBLASLt has no algorithm for.
void matmul_simple(const MatmulArgs& args);

}  // namespace aorta::cuda
