#include <aorta/examples/matmul/matmul.h>

#include <algorithm>

namespace steps {

// The loop over columns is inside: b and c are read in the order in which they lie, and the
// compiler turns the inner loop into vectors.
void order(const Product& p) {
  std::fill(p.c, p.c + p.m * p.n, 0.0f);
  for (int64_t i = 0; i < p.m; ++i) {
    float* const c = p.c + i * p.n;
    for (int64_t x = 0; x < p.k; ++x) {
      const float a = p.a[i * p.k + x];
      const float* const b = p.b + x * p.n;
      for (int64_t j = 0; j < p.n; ++j) c[j] += a * b[j];
    }
  }
}

}  // namespace steps
