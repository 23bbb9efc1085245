#pragma once

#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// The factors of a transform of n numbers, and cosine and sine of -2 pi k / n for k < n.
template <class T>
struct FftPlan {
  int64_t n = 1;
  int count = 0;
  int64_t factors[32] = {};
  const T* cosine = nullptr;
  const T* sine = nullptr;
};

/// Transforms lines that lie side by side, number k of line c at [k * lines + c], forward and
/// without a scale. The result is in `re` and `im` where the plan has an even number of factors,
/// else in the other two, of the same size. (An inverse transform has the parts in each other's
/// place, before and after.)
template <class T>
using FftFunction = void (*)(const FftPlan<T>& plan, int64_t lines, T* re, T* im, T* other_re,
                             T* other_im);

struct FftLoops {
  FftFunction<float> f32;
  FftFunction<double> f64;
};
AORTA_ISA_TABLE(FftLoops, fft_loops)

}  // namespace aorta::cpu
