#pragma once

#include <cstdint>

namespace aorta::cpu {

/// A rectangle of work in equal parts, down x across of them.
struct Grid {
  int64_t down = 1, across = 1;
  int64_t count() const { return down * across; }
};

/// The grid of so many parts that costs the least; cost(grid) is an int64_t, and of equals the one
/// of fewer parts down is taken.
template <class Cost>
Grid best_grid(int64_t parts, const Cost& cost) {
  Grid best{1, parts};
  int64_t least = INT64_MAX;
  for (int64_t down = 1; down <= parts; ++down) {
    if (parts % down != 0) continue;
    const Grid grid{down, parts / down};
    const int64_t time = cost(grid);
    if (time >= least) continue;
    least = time;
    best = grid;
  }
  return best;
}

}  // namespace aorta::cpu
