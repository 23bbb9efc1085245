#include <aorta/examples/matmul/tile.h>

namespace steps {

bool has_v3() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

// This is the same tile for registers of 8 numbers, with multiply and add in one instruction.
__attribute__((target("avx2,fma"))) void instructions(const Product& p) { multiply_tiles<8, 6>(p); }

}  // namespace steps
