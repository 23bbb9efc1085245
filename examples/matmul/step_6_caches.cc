#include <aorta/examples/matmul/tile.h>

#include <algorithm>

namespace steps {
namespace {

// A strip of b, 512 rows and 256 columns (512 KB), stays in the second-level cache while all rows
// of a go by; 12 rows of 512 numbers of a (24 KB) stay in the first-level cache meanwhile.
constexpr int64_t kDepth = 512, kColumns = 256;

template <int lanes, int rows>
__attribute__((always_inline)) inline void multiply(const Product& p) {
  const int64_t down = p.m / rows * rows, across = p.n / (2 * lanes) * (2 * lanes);
  for (int64_t x = 0; x < p.k; x += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - x);
    for (int64_t first = 0; first < across; first += kColumns) {
      const int64_t end = std::min(first + kColumns, across);
      for (int64_t i = 0; i < down; i += rows) {
        for (int64_t j = first; j < end; j += 2 * lanes) {
          multiply_tile<lanes, rows>(depth, p.a + i * p.k + x, p.k, 1, p.b + x * p.n + j, p.n,
                                     p.c + i * p.n + j, p.n, x > 0);
        }
      }
    }
  }
  multiply_edges(p, down, across);
}

__attribute__((target("avx2,fma"))) void multiply_v3(const Product& p) { multiply<8, 6>(p); }
__attribute__((target("avx512f"))) void multiply_v4(const Product& p) { multiply<16, 12>(p); }

}  // namespace

void caches(const Product& p) { has_v4() ? multiply_v4(p) : multiply_v3(p); }

}  // namespace steps
