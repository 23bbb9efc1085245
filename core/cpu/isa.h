#pragma once

#include <aorta/core/integers.h>

#include <cstdint>

#ifdef AORTA_ONE_ISA
// A build for this machine (--isa=machine) has one variant, under all names.
namespace aorta::cpu {
namespace only {}
namespace v2 = only;
namespace v3 = only;
namespace v4 = only;
}  // namespace aorta::cpu
#define AORTA_EACH_ISA(...) \
  namespace only {          \
  __VA_ARGS__               \
  }
#else
/// Declares an entry point of cpu/isa/*.cc in each of the namespaces that it is compiled in.
#define AORTA_EACH_ISA(...) \
  namespace v2 {            \
  __VA_ARGS__               \
  }                         \
  namespace v3 {            \
  __VA_ARGS__               \
  }                         \
  namespace v4 {            \
  __VA_ARGS__               \
  }
#endif

namespace aorta::cpu {

/// The instruction sets that kernels are compiled for: x86-64-v2 (SSE4.2), -v3 (AVX2, FMA, F16C)
/// and -v4 (AVX-512).
enum class Isa : uint8_t { v2, v3, v4 };

/// The best one of this CPU, or a lower one that AORTA_ISA (v2, v3, v4) names. Read once. A build
/// for one machine has one, and refuses a CPU without it and the wish for another.
Isa isa();

/// The rule of isa(): the CPU's best, the one that was built (null: all were), what AORTA_ISA says
/// (or null).
Isa choose_isa(Isa best, const Isa* built, const char* wish);

/// The variant for this CPU.
template <class T>
inline T for_isa(T v2, T v3, T v4) {
  switch (isa()) {
    case Isa::v2:
      return v2;
    case Isa::v3:
      return v3;
    case Isa::v4:
      break;
  }
  return v4;
}

/// The smaller and the larger one: std::min's copy in code of an instruction set could be the one
/// that the linker keeps for all CPUs.
AORTA_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
AORTA_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/// Declares name(), the loops of this CPU's instruction set: the table `name` that cpu/isa/*.cc
/// defines once for each.
#define AORTA_ISA_TABLE(Type, name)       \
  AORTA_EACH_ISA(extern const Type name;) \
  inline const Type& name() { return *for_isa(&v2::name, &v3::name, &v4::name); }

/// True when v4 is in use and the CPU multiplies bf16 natively (AVX512-BF16) and so faster than as
/// f32. Intel's CPUs don't: a product of pairs takes two cycles there, four times as long as a
/// multiply-add of f32.
bool has_bf16();

}  // namespace aorta::cpu
