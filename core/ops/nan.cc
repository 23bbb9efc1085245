#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/nan.h>

#include <aorta/core/called_op.h>
#include <aorta/core/finfo.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <limits>

namespace aorta {

Tensor nan_to_num(const Tensor& input, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  check_defined("nan_to_num", {{"input", input}});
  const CalledOp called("nan_to_num");
  if (input.is_complex()) {
    return kernel::by_parts(
        input, [&](const Tensor& parts) { return nan_to_num(parts, nan, posinf, neginf); });
  }
  const DType dtype = input.dtype();
  if (!is_floating(dtype)) return input.clone();
  const double most = finfo(dtype).max, infinity = std::numeric_limits<double>::infinity();
  const double above = posinf.value_or(most), below = neginf.value_or(-most);
  for (const double number : {nan, above, below}) check_fits("nan_to_num", number, dtype);
  const Tensor bounded =
      where(eq(input, infinity), above, where(eq(input, -infinity), below, input));
  return where(isnan(input), nan, bounded);
}
Tensor nan_to_num_(const Tensor& input, double nan, std::optional<double> posinf,
                   std::optional<double> neginf) {
  const CalledOp called("nan_to_num_");
  return input.copy_(nan_to_num(input, nan, posinf, neginf));
}

Tensor nansum(const Tensor& input, const ReduceDims& dims, bool keepdim,
              std::optional<DType> dtype) {
  check_defined("nansum", {{"input", input}});
  const CalledOp called("nansum");
  const Tensor x = is_differentiable(input.dtype()) ? where(isnan(input), 0.0, input) : input;
  return sum(x, dims, keepdim, dtype);
}

Tensor nanmean(const Tensor& input, const ReduceDims& dims, bool keepdim,
               std::optional<DType> dtype) {
  check_defined("nanmean", {{"input", input}});
  const CalledOp called("nanmean");
  const DType result = dtype.value_or(input.dtype());
  kernel::check_stays_complex("nanmean", input.dtype(), result);
  check(is_floating(result), "nanmean", "dtype must be floating", result);
  const Tensor x = input.to(result);
  const DType computed = result == DType::f64 ? DType::f64 : DType::f32;
  const Tensor count = sum(logical_not(isnan(x)), dims, keepdim);
  return div(nansum(x, dims, keepdim, computed), count).to(result);
}

}  // namespace aorta
