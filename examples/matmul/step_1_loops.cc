#include <aorta/examples/matmul/matmul.h>

namespace steps {

// The definition: an element of c is the sum over k of a row of a times a column of b.
void loops(const Product& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t x = 0; x < p.k; ++x) sum += p.a[i * p.k + x] * p.b[x * p.n + j];
      p.c[i * p.n + j] = sum;
    }
  }
}

}  // namespace steps
