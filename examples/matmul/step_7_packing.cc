#include <aorta/examples/matmul/tile.h>

#include <algorithm>
#include <vector>

namespace steps {
namespace {

constexpr int64_t kDepth = 512, kColumns = 256;

// Lines side by side, `width` at a time, in the order in which a tile reads them:
// [panel][x][width]. The last panel is filled up with zeros, so that every tile is whole.
void pack(int64_t lines, int64_t depth, const float* from, int64_t line, int64_t step,
          int64_t width, float* to) {
  for (int64_t first = 0; first < lines; first += width) {
    const int64_t count = std::min(width, lines - first);
    for (int64_t x = 0; x < depth; ++x, to += width) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[(first + i) * line + x * step];
      for (int64_t i = count; i < width; ++i) to[i] = 0;
    }
  }
}

int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

template <int lanes, int rows>
__attribute__((always_inline)) inline void multiply(const Product& p) {
  constexpr int64_t width = 2 * lanes;
  const int64_t most = std::min(kDepth, p.k);
  std::vector<float> a(round_up(p.m, rows) * most), b(round_up(p.n, width) * most);
  for (int64_t x = 0; x < p.k; x += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - x);
    pack(p.m, depth, p.a + x, p.k, 1, rows, a.data());
    pack(p.n, depth, p.b + x * p.n, 1, p.n, width, b.data());
    for (int64_t first = 0; first < p.n; first += kColumns) {
      const int64_t end = std::min(first + kColumns, p.n);
      for (int64_t i = 0; i < p.m; i += rows) {
        for (int64_t j = first; j < end; j += width) {
          const float *const ai = a.data() + i * depth, *const bj = b.data() + j * depth;
          if (i + rows <= p.m && j + width <= p.n) {
            multiply_tile<lanes, rows>(depth, ai, 1, rows, bj, width, p.c + i * p.n + j, p.n,
                                       x > 0);
            continue;
          }
          float whole[rows * width];
          multiply_tile<lanes, rows>(depth, ai, 1, rows, bj, width, whole, width, false);
          for (int64_t r = 0; r < std::min<int64_t>(rows, p.m - i); ++r) {
            float* const c = p.c + (i + r) * p.n + j;
            for (int64_t y = 0; y < std::min(width, p.n - j); ++y)
              c[y] = (x > 0 ? c[y] : 0) + whole[r * width + y];
          }
        }
      }
    }
  }
}

__attribute__((target("avx2,fma"))) void multiply_v3(const Product& p) { multiply<8, 6>(p); }
__attribute__((target("avx512f"))) void multiply_v4(const Product& p) { multiply<16, 12>(p); }

}  // namespace

void packing(const Product& p) { has_v4() ? multiply_v4(p) : multiply_v3(p); }

}  // namespace steps
