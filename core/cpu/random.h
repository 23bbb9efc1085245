#pragma once

#include <aorta/core/body/random.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// A fill as plain data (see RandomArgs in core/ops/random.h).
struct RandomFill {
  body::Distribution distribution;
  DType dtype;
  void* out;
  int64_t count;
  body::RandomPosition random;
  double a, b;
  int64_t low;
  uint64_t range;
  const double* probability;
  int64_t probability_step;
};

/// Blocks [begin, end) of a fill; blocks beyond the last write nothing.
AORTA_EACH_ISA(void random_fill(const RandomFill& fill, int64_t begin, int64_t end);)

}  // namespace aorta::cpu
