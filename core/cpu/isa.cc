#include <aorta/core/check.h>
#include <aorta/core/cpu/isa.h>

#include <cstdlib>
#include <string>
#include <string_view>

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
  check(__builtin_cpu_supports("sse4.2"), "cpu", "the CPU must have SSE4.2 (x86-64-v2)",
        "one without");
  return Isa::v2;
}

std::string text_of(Isa isa) { return "v" + std::to_string(static_cast<int>(isa) + 2); }

}  // namespace

Isa choose_isa(Isa best, const Isa* built, const char* wish) {
  if (built) {
    check(best >= *built, "cpu", "the CPU must have the one instruction set of this build",
          text_of(*built), " on a CPU with ", text_of(best));
    best = *built;
  }
  if (!wish || !*wish) return best;
  const std::string_view name = wish;
  check(name == "v2" || name == "v3" || name == "v4", "AORTA_ISA", "v2, v3 or v4", name);
  const Isa wanted = static_cast<Isa>(name[1] - '2');
  check(!built || wanted == *built, "AORTA_ISA",
        "this build has kernels of one instruction set (--isa=machine)", name, " where it has ",
        text_of(best));
  check(wanted <= best, "AORTA_ISA", "the CPU must have the instruction set", name,
        " on a CPU with ", text_of(best));
  return wanted;
}

Isa isa() {
#ifdef AORTA_ONE_ISA
  static constexpr Isa only = Isa::AORTA_ONE_ISA;
  static const Isa chosen = choose_isa(best_isa(), &only, std::getenv("AORTA_ISA"));
#else
  static const Isa chosen = choose_isa(best_isa(), nullptr, std::getenv("AORTA_ISA"));
#endif
  return chosen;
}

bool has_bf16() {
  return isa() == Isa::v4 && __builtin_cpu_supports("avx512bf16") && !__builtin_cpu_is("intel");
}

}  // namespace aorta::cpu
