#include <aorta/core/cpu/isa/half_row.h>
#include <aorta/core/cpu/update.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

// f32 and f64: every load and store is of the type that is computed in.
template <class F, class T>
void run(const UpdateTensor& tensor, const UpdateNumbers<double>& numbers, int64_t first,
         int64_t end) {
  const UpdateNumbers<T> n(numbers);
  T* const parameter = static_cast<T*>(tensor.parameter);
  // A rule that reads no gradient gets the parameter's, and the compiler drops the load.
  const T* const gradient =
      static_cast<const T*>(tensor.gradient ? tensor.gradient : tensor.parameter);
  T* const s0 = static_cast<T*>(tensor.states[0]);
  T* const s1 = static_cast<T*>(tensor.states[1]);
  T* const s2 = static_cast<T*>(tensor.states[2]);
#pragma GCC ivdep
  for (int64_t i = first; i < end; ++i) {
    T p = parameter[i];
    T s[kMaxUpdateStates] = {};
    if constexpr (F::states > 0) s[0] = s0[i];
    if constexpr (F::states > 1) s[1] = s1[i];
    if constexpr (F::states > 2) s[2] = s2[i];
    F()(n, p, gradient[i], s);
    parameter[i] = p;
    if constexpr (F::states > 0) s0[i] = s[0];
    if constexpr (F::states > 1) s1[i] = s[1];
    if constexpr (F::states > 2) s2[i] = s[2];
  }
}

// A block of half types is converted in registers; states are f32.
template <class F, class H>
AORTA_INLINE void run_block(const UpdateNumbers<float>& n, H* parameter, const H* gradient,
                            float* const* states) {
  float p[kHalfBlock], g[kHalfBlock];
  widen(p, parameter);
  widen(g, gradient);
  for (int j = 0; j < kHalfBlock; ++j) {
    float s[kMaxUpdateStates] = {};
    for (int k = 0; k < F::states; ++k) s[k] = states[k][j];
    F()(n, p[j], g[j], s);
    for (int k = 0; k < F::states; ++k) states[k][j] = s[k];
  }
  narrow(parameter, p);
}

template <class F, class H>
void run_half(const UpdateTensor& tensor, const UpdateNumbers<double>& numbers, int64_t first,
              int64_t end) {
  const UpdateNumbers<float> n(numbers);
  H* const parameter = static_cast<H*>(tensor.parameter);
  const H* const gradient =
      static_cast<const H*>(tensor.gradient ? tensor.gradient : tensor.parameter);
  float* states[kMaxUpdateStates];
  for (int k = 0; k < F::states; ++k) states[k] = static_cast<float*>(tensor.states[k]) + first;
  int64_t i = first;
  for (; i + kHalfBlock <= end; i += kHalfBlock) {
    run_block<F>(n, parameter + i, gradient + i, states);
    for (int k = 0; k < F::states; ++k) states[k] += kHalfBlock;
  }
  if (i == end) return;
  // The rest becomes a block of its own.
  const int64_t rest = end - i;
  H p[kHalfBlock] = {}, g[kHalfBlock] = {};
  float s[kMaxUpdateStates][kHalfBlock] = {};
  float* const places[] = {s[0], s[1], s[2]};
  for (int64_t j = 0; j < rest; ++j) {
    p[j] = parameter[i + j];
    g[j] = gradient[i + j];
    for (int k = 0; k < F::states; ++k) s[k][j] = states[k][j];
  }
  run_block<F>(n, p, g, places);
  for (int64_t j = 0; j < rest; ++j) {
    parameter[i + j] = p[j];
    for (int k = 0; k < F::states; ++k) states[k][j] = s[k][j];
  }
}

}  // namespace

UpdateFunction update_function(UpdateRule rule, DType dtype) {
  return scalar::with_update(
      rule, [&]<class F>(F) __attribute__((always_inline))->UpdateFunction {
        switch (dtype) {
          case DType::f64:
            return run<F, double>;
          case DType::f16:
            return run_half<F, Half>;
          case DType::bf16:
            return run_half<F, BFloat16>;
          default:
            return run<F, float>;
        }
      });
}

}  // namespace aorta::cpu::AORTA_ISA
