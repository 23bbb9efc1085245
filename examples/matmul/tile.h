#pragma once

#include <aorta/examples/matmul/matmul.h>

#include <cstring>

namespace steps {

/// A vector of so many numbers, one register wide where the instruction set has it.
template <int lanes>
using Vector __attribute__((vector_size(lanes * sizeof(float)))) = float;

/// c (rows, 2 lanes) = or += a (rows, k) b (k, 2 lanes). The sums stay in registers from the first
/// k to the last: a number of a and a vector of b are loaded once and used 2 and `rows` times.
template <int lanes, int rows>
__attribute__((always_inline)) inline void multiply_tile(int64_t k, const float* a, int64_t a_row,
                                                         int64_t a_step, const float* b,
                                                         int64_t b_step, float* c, int64_t c_row,
                                                         bool add) {
  Vector<lanes> sums[rows][2] = {};
  for (int64_t x = 0; x < k; ++x) {
    Vector<lanes> left, right;
    std::memcpy(&left, b + x * b_step, sizeof left);
    std::memcpy(&right, b + x * b_step + lanes, sizeof right);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const float number = a[r * a_row + x * a_step];
      sums[r][0] += number * left;
      sums[r][1] += number * right;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    float* const to = c + r * c_row;
    Vector<lanes> old[2] = {};
    if (add) std::memcpy(&old, to, sizeof old);
    old[0] += sums[r][0];
    old[1] += sums[r][1];
    std::memcpy(to, &old, sizeof old);
  }
}

/// The edges of c that no whole tile covers: rows from `row` on, and columns from `column` on.
inline void multiply_edges(const Product& p, int64_t row, int64_t column) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = i < row ? column : 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t x = 0; x < p.k; ++x) sum += p.a[i * p.k + x] * p.b[x * p.n + j];
      p.c[i * p.n + j] = sum;
    }
  }
}

/// The product, a tile after another.
template <int lanes, int rows>
__attribute__((always_inline)) inline void multiply_tiles(const Product& p) {
  const int64_t down = p.m / rows * rows, across = p.n / (2 * lanes) * (2 * lanes);
  for (int64_t j = 0; j < across; j += 2 * lanes) {
    for (int64_t i = 0; i < down; i += rows) {
      multiply_tile<lanes, rows>(p.k, p.a + i * p.k, p.k, 1, p.b + j, p.n, p.c + i * p.n + j, p.n,
                                 false);
    }
  }
  multiply_edges(p, down, across);
}

}  // namespace steps
