// What aorta_isa_library promises, asked of a library that it compiled.
#pragma once

#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// The instruction sets and floating-point rules that a variant was compiled for.
struct IsaTraits {
  bool sse42;
  bool avx2;
  bool fma;
  bool f16c;
  bool avx512;
  bool math_errno;
  bool fast_math;
};

AORTA_EACH_ISA(IsaTraits isa_traits(); float multiply_add(float a, float b, float c);)

}  // namespace aorta::cpu
