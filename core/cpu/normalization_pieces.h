#pragma once

#include <aorta/core/cpu/normalization.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>

#include <algorithm>

namespace aorta::cpu {

/// Elements of a piece of work with a partial result of its own: of runs, and of rows of columns,
/// whose partial results are long. Pieces depend on shapes alone, and so do the bits of the result.
inline constexpr int64_t kRunElements = 2048;
inline constexpr int64_t kPieceElements = 65536;
inline int64_t grain_of(int64_t elements) {
  return std::max<int64_t>(kThreadGrain / std::max<int64_t>(elements, 1), 1);
}

inline const NormLoops& loops_of(DType dtype) {
  return for_isa(v2::norm_loops, v3::norm_loops, v4::norm_loops)(dtype);
}

/// `runs` stretches of n elements, cut into pieces.
struct Runs {
  int64_t n, runs, cuts, together;
  struct Piece {
    int64_t run, first, n, runs;
  };

  Runs(int64_t length, int64_t count)
      : n(length),
        runs(count),
        cuts(divide_up(length, kRunElements)),
        together(std::max<int64_t>(kRunElements / 2 / length, 1)) {}
  int64_t count() const { return cuts > 1 ? runs * cuts : divide_up(runs, together); }
  Piece piece(int64_t i) const {
    if (cuts == 1) return {i * together, 0, n, std::min(together, runs - i * together)};
    const int64_t first = i % cuts * kRunElements;
    return {i / cuts, first, std::min(kRunElements, n - first), 1};
  }
};

}  // namespace aorta::cpu
