#pragma once

// Decompositions of matrices that fit into a block's shared memory, a block a matrix and one launch
// for the whole batch.

#include <aorta/core/ops/linalg.h>
#include <aorta/cuda/rows.h>

namespace aorta::cuda {

/// Rows and columns that such a matrix may have.
inline constexpr int64_t kSmallMatrix = 64;

/// What is found of each matrix, in an i32 of the device.
enum Found : int32_t { kFine = 0, kFailed = 1, kNotFinite = 2 };

void small_cholesky(const TwoFactorsArgs& args, int32_t* found);
void small_lu_factor(const TwoFactorsArgs& args, int32_t* found);
void small_solve(const SolveArgs& args, int32_t* found);
void small_solve_triangular(const SolveArgs& args, int32_t* found);

}  // namespace aorta::cuda
