#include <aorta/core/integers.h>
#include <aorta/cuda/reduction.h>

namespace aorta::cuda {
namespace {

constexpr int kBlock = 256, kWarp = 32;

// The smallest power of two that is at least n, within [1, limit].
int lanes(int64_t n, int limit) {
  if (n >= limit) return limit;
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

int64_t blocks_of(int64_t elements, int64_t inner, int block) {
  return elements == 0 ? 0 : divide_up(inner, block) * (elements / inner);
}

ReductionWay way_of(const ReduceArgs& args, bool typed) {
  const int64_t item = item_size(args.input_dtype);
  if (typed && args.reduced_ndim > 0 && args.reduced_strides[0] == item) return ReductionWay::rows;
  if (typed && args.kept_ndim > 0 && args.kept_strides[0] == item) return ReductionWay::columns;
  return ReductionWay::any;
}

bool is_kept_fast(const ReduceArgs& args, ReductionWay way) {
  if (way != ReductionWay::any) return way == ReductionWay::columns;
  if (args.kept_ndim == 0) return false;
  return args.reduced_ndim == 0 || args.kept_strides[0] < args.reduced_strides[0];
}

// Units of a thread from which a reduction is worth splitting, and the blocks that are wanted: some
// times over the multiprocessors of a large GPU. Chunks of rows leave few states to be joined.
struct Split {
  int64_t units, blocks;
};
Split split_of(ReductionWay way) {
  switch (way) {
    case ReductionWay::rows:
      return {8, 2048};
    case ReductionWay::columns:
      return {8, 1024};
    case ReductionWay::any:
      break;
  }
  return {16, 1024};
}

}  // namespace

ReductionShape ReductionShape::choose(const ReduceArgs& args, bool typed, size_t state_bytes) {
  const int64_t item = item_size(args.input_dtype);
  ReductionShape shape;
  shape.way = way_of(args, typed);
  shape.kept_fast = is_kept_fast(args, shape.way);
  shape.outputs = args.kept;
  int64_t units = args.reduced;
  if (shape.way == ReductionWay::rows)
    units = blocks_of(args.reduced, args.reduced_shape[0], row_block(item));
  if (shape.way == ReductionWay::columns)
    shape.outputs = blocks_of(args.kept, args.kept_shape[0], column_block(item, state_bytes));

  if (shape.kept_fast) {
    // A warp reads 32 neighbours; the rest of the block shares the reduced elements.
    const int enough = lanes(divide_up(units, 4), kBlock / kWarp);
    shape.kept_lanes = lanes(shape.outputs, kBlock / enough);
    shape.reduced_lanes = std::min(kBlock / shape.kept_lanes, lanes(units, kBlock));
  } else {
    // Whole warps, for lanes of a row are joined within them.
    shape.reduced_lanes = lanes(divide_up(units, 4), kBlock);
    shape.kept_lanes = std::max(std::min(kBlock / shape.reduced_lanes, lanes(args.kept, kBlock)),
                                kWarp / shape.reduced_lanes);
  }
  const Split split = split_of(shape.way);
  const int64_t most = divide_up(units, shape.reduced_lanes * split.units);
  const int64_t wanted =
      std::clamp<int64_t>(split.blocks / shape.groups(), 1, std::max<int64_t>(most, 1));
  // Whole rounds of the lanes, so that only the last chunk has a ragged end.
  shape.chunk = round_up(divide_up(std::max<int64_t>(units, 1), wanted), shape.reduced_lanes);
  shape.chunks = std::max<int64_t>(divide_up(units, shape.chunk), 1);
  return shape;
}

ReductionShape ReductionShape::join(int64_t outputs, int64_t chunks) {
  ReductionShape shape;
  shape.kept_fast = true;
  shape.outputs = outputs;
  shape.kept_lanes = lanes(outputs, 8);
  shape.reduced_lanes = lanes(chunks, kBlock / shape.kept_lanes);
  shape.chunk = shape.chunks = chunks;
  return shape;
}

}  // namespace aorta::cuda
