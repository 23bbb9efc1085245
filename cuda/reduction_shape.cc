#include <aorta/core/integers.h>
#include <aorta/cuda/reduction.h>

#include <algorithm>
#include <bit>

namespace aorta::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int64_t kBlocksWanted = 1024;     // some times over the multiprocessors of a large GPU
constexpr int64_t kElementsOfAThread = 16;  // worth splitting a reduction for

// The smallest power of two that is at least n, within [1, limit].
int lanes(int64_t n, int limit) {
  if (n >= limit) return limit;
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

}  // namespace

ReductionShape ReductionShape::choose(const ReduceArgs& args) {
  ReductionShape shape;
  const bool only_kept = args.reduced_ndim == 0 && args.kept_ndim > 0;
  shape.kept_fast = only_kept || (args.kept_ndim > 0 && args.reduced_ndim > 0 &&
                                  args.kept_strides[0] < args.reduced_strides[0]);
  if (shape.kept_fast) {
    // A warp reads 32 neighbours; the rest of the block shares the reduced elements.
    const int enough = lanes(divide_up(args.reduced, 4), kBlock / 32);
    const int kept = lanes(args.kept, kBlock / enough);
    shape.kept_lanes = kept;
    shape.reduced_lanes = std::min(kBlock / kept, lanes(args.reduced, kBlock));
  } else {
    shape.reduced_lanes = lanes(divide_up(args.reduced, 2), kBlock);
    shape.kept_lanes = std::min(kBlock / shape.reduced_lanes, lanes(args.kept, kBlock));
  }
  const int64_t groups = divide_up(args.kept, shape.kept_lanes);
  const int64_t most = divide_up(args.reduced, shape.reduced_lanes * kElementsOfAThread);
  const int64_t wanted = std::clamp<int64_t>(kBlocksWanted / groups, 1, std::max<int64_t>(most, 1));
  // Whole rounds of the lanes, so that only the last chunk has a ragged end.
  shape.chunk =
      divide_up(divide_up(std::max<int64_t>(args.reduced, 1), wanted), shape.reduced_lanes) *
      shape.reduced_lanes;
  shape.chunks = std::max<int64_t>(divide_up(args.reduced, shape.chunk), 1);
  return shape;
}

}  // namespace aorta::cuda
