#include <aorta/examples/matmul/tile.h>

namespace steps {

bool has_v4() { return __builtin_cpu_supports("avx512f"); }

// AVX-512 has 32 registers of 16 numbers: 12 x 32 sums in 24 of them.
__attribute__((target("avx512f"))) void width(const Product& p) { multiply_tiles<16, 12>(p); }

}  // namespace steps
