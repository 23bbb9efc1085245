#include <aorta/examples/matmul/matmul.h>

#include <aorta/aorta.h>

#include <algorithm>

namespace steps {

// Each thread computes rows of c of its own, packs what they need for itself, and adds up each
// element alone: the bits don't depend on the number of threads. A million multiplications are
// worth a thread; less work than two million stays on this one.
void threads(const Product& p) {
  const int64_t work = p.m * p.n * p.k >> 20;
  const int64_t parts = std::clamp<int64_t>(work, 1, aorta::get_num_threads());
  const int64_t rows = (p.m + 12 * parts - 1) / (12 * parts) * 12;
  aorta::parallel_for(0, p.m, rows, [&](int64_t begin, int64_t end) {
    packing({end - begin, p.n, p.k, p.a + begin * p.k, p.b, p.c + begin * p.n});
  });
}

}  // namespace steps
