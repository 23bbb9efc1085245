#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/dtype.h>
#include <aorta/core/scalar/normalization.h>

namespace aorta::cpu {

using scalar::NormMap;
using scalar::NormMoments;

/// dx = of_gradient g + of_input (x - mean) + constant, g as in NormSums.
struct NormBackwardMap {
  NormMap forward;
  double of_gradient, of_input, constant;
};
/// Sums of g and of g (x - mean), where g is the gradient of y, or with `relu` that where y isn't
/// 0.
struct NormSums {
  double gradient = 0, product = 0;
};
/// A column map is the map above for each of many columns; its arrays have the dtype that is
/// computed in.
struct NormColumnMap {
  const void *mean, *scale, *shift;
  bool relu = false;
};
struct NormColumnBackwardMap {
  NormColumnMap forward;
  const void *of_gradient, *of_input, *constant;
};

/// The loops of a dtype. Runs: `runs` stretches of n elements that begin `step` elements apart.
/// Columns: `rows` of `columns` elements one after another.
struct NormLoops {
  NormMoments (*run_moments)(const void* x, int64_t n, int64_t runs, int64_t step);
  void (*run_map)(void* y, const void* x, int64_t n, int64_t runs, int64_t step,
                  const NormMap& map);
  /// max(y + residual, 0), and the gradient g where that isn't 0.
  void (*run_sum)(void* y, const void* x, const void* residual, int64_t n, int64_t runs,
                  int64_t step, const NormMap& map);
  void (*run_masked)(void* masked, const void* g, const void* x, const void* residual, int64_t n,
                     int64_t runs, int64_t step, const NormMap& map);
  NormSums (*run_sums)(const void* g, const void* x, int64_t n, int64_t runs, int64_t step,
                       const NormMap& forward);
  void (*run_backward)(void* dx, const void* g, const void* x, int64_t n, int64_t runs,
                       int64_t step, const NormBackwardMap& map);

  void (*column_moments)(double* mean, double* squares, const void* x, int64_t rows,
                         int64_t columns);
  void (*column_map)(void* y, const void* x, int64_t rows, int64_t columns,
                     const NormColumnMap& map);
  void (*column_sum)(void* y, const void* x, const void* residual, int64_t rows, int64_t columns,
                     const NormColumnMap& map);
  void (*column_masked)(void* masked, const void* g, const void* x, const void* residual,
                        int64_t rows, int64_t columns, const NormColumnMap& map);
  void (*column_sums)(double* gradient, double* product, const void* g, const void* x, int64_t rows,
                      int64_t columns, const NormColumnMap& forward);
  void (*column_backward)(void* dx, const void* g, const void* x, int64_t rows, int64_t columns,
                          const NormColumnBackwardMap& map);

  /// y = x_hat weight + bias for a line, x_hat = (x - mean) scale + shift.
  void (*line_map)(void* y, const void* x, int64_t n, const NormMap& map, const void* weight,
                   const void* bias);
  /// A line's sums of g weight and g weight x_hat; adds g x_hat and g to the columns' sums, which
  /// may be null.
  NormSums (*line_sums)(const void* g, const void* x, int64_t n, const NormMap& map,
                        const void* weight, void* weight_sums, void* bias_sums);
  /// dx = scale (g weight - mean_gradient - x_hat mean_product).
  void (*line_backward)(void* dx, const void* g, const void* x, int64_t n, const NormMap& map,
                        const void* weight, double mean_gradient, double mean_product);
};

AORTA_EACH_ISA(const NormLoops& norm_loops(DType dtype);)

}  // namespace aorta::cpu
