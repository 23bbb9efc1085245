#include <aorta/tests/checks/isa_probe.h>

namespace aorta::cpu::AORTA_ISA {

IsaTraits isa_traits() {
  IsaTraits traits{};
#ifdef __SSE4_2__
  traits.sse42 = true;
#endif
#ifdef __AVX2__
  traits.avx2 = true;
#endif
#ifdef __FMA__
  traits.fma = true;
#endif
#ifdef __F16C__
  traits.f16c = true;
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
  traits.avx512 = true;
#endif
#ifndef __NO_MATH_ERRNO__
  traits.math_errno = true;
#endif
#ifdef __FAST_MATH__
  traits.fast_math = true;
#endif
  return traits;
}

float multiply_add(float a, float b, float c) { return a * b + c; }

}  // namespace aorta::cpu::AORTA_ISA
