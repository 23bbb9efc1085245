#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

// What stands where there is NaN or infinity. Composed of where, isnan and sum.

/// x with NaN as `nan`, inf as `posinf` and -inf as `neginf`: where those are left out, the dtype's
/// largest and smallest number. Other dtypes than floating ones stay as they are. What was replaced
/// has no gradient. Errors: a number that the dtype doesn't hold.
Tensor nan_to_num(const Tensor& input, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});
Tensor nan_to_num_(const Tensor& input, double nan = 0, std::optional<double> posinf = {},
                   std::optional<double> neginf = {});

/// sum with NaN as 0.
Tensor nansum(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false,
              std::optional<DType> dtype = {});
/// The mean of what isn't NaN; NaN where nothing is left. Floating dtypes, also after `dtype`; half
/// types are computed in f32 and rounded once.
Tensor nanmean(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false,
               std::optional<DType> dtype = {});

}  // namespace aorta
