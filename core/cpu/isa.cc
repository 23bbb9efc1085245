#include <aorta/core/check.h>
#include <aorta/core/cpu/isa.h>

#include <cstdlib>

namespace aorta::cpu {
namespace {

Isa best_isa() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Isa::v4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return Isa::v3;
  }
  check(__builtin_cpu_supports("sse4.2"), "cpu", "the CPU must have SSE4.2 (x86-64-v2)");
  return Isa::v2;
}

Isa choose_isa() {
  Isa best = best_isa();
#ifdef AORTA_ONE_ISA
  check(best >= Isa::AORTA_ONE_ISA, "cpu",
        "the CPU must have the one instruction set of this build", "v", static_cast<int>(best) + 2);
  best = Isa::AORTA_ONE_ISA;
#endif
  const char* wish = std::getenv("AORTA_ISA");
  if (!wish || !*wish) return best;
  const std::string_view wanted = wish;
  check(wanted == "v2" || wanted == "v3" || wanted == "v4", "AORTA_ISA", "v2, v3 or v4", wanted);
  const Isa isa = static_cast<Isa>(wanted[1] - '2');
  check(isa <= best, "AORTA_ISA", "the CPU must have the instruction set", wanted,
        " on a CPU with v", static_cast<int>(best) + 2);
  return isa;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose_isa();
  return chosen;
}

bool has_bf16() { return isa() == Isa::v4 && __builtin_cpu_supports("avx512bf16"); }

}  // namespace aorta::cpu
