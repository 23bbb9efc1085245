// What aorta_isa_library promises, asked of a library that it compiled.
#pragma once

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

// clang-format off
namespace v2 { IsaTraits isa_traits(); float multiply_add(float a, float b, float c); }
namespace v3 { IsaTraits isa_traits(); float multiply_add(float a, float b, float c); }
namespace v4 { IsaTraits isa_traits(); float multiply_add(float a, float b, float c); }
// clang-format on

}  // namespace aorta::cpu
