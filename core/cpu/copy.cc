#include <aorta/core/cpu/tiles.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace aorta::cpu {
namespace {

bool is_contiguous(const PointwiseArgs& args, int k) {
  return args.ndim == 0 || (args.ndim == 1 && args.strides[k][0] == item_size(args.dtype[k]));
}

void copy_contiguous(const PointwiseArgs& args) {
  const int64_t from = item_size(args.dtype[1]), to = item_size(args.dtype[0]);
  const bool same = args.dtype[0] == args.dtype[1];
  const bool stream = should_stream(args.numel * to);
  const ConvertFunction convert = converter(args.dtype[0], args.dtype[1]);
  parallel_for(0, args.numel, kThreadGrain, [&](int64_t begin, int64_t end) {
    char* out = args.data[0] + begin * to;
    const char* in = args.data[1] + begin * from;
    if (same && stream) {
      stream_copy(out, in, (end - begin) * to);
      return stream_fence();
    }
    if (same) {
      std::memcpy(out, in, static_cast<size_t>((end - begin) * to));
      return;
    }
    if (!stream) return convert(out, in, end - begin);
    alignas(64) char buffer[kRowElements * 8];
    for (int64_t i = begin; i < end; i += kRowElements) {
      const int64_t n = std::min(kRowElements, end - i);
      convert(buffer, args.data[1] + i * from, n);
      stream_copy(args.data[0] + i * to, buffer, n * to);
    }
    stream_fence();
  });
}

// A tile is gathered row after row in the source's dtype, converted, and laid out in the
// destination.
void copy_tiles(const PointwiseArgs& args) {
  const bool same = args.dtype[0] == args.dtype[1];
  const int64_t from = item_size(args.dtype[1]), to = item_size(args.dtype[0]);
  const int64_t n0 = extent_of(args, 0), n1 = extent_of(args, 1);
  const int64_t d0 = stride_of(args, 0, 0), d1 = stride_of(args, 0, 1);
  const int64_t s0 = stride_of(args, 1, 0), s1 = stride_of(args, 1, 1);
  const bool transposed = n1 > 1 && s1 != 0 && s1 < s0;
  const int64_t columns = std::min<int64_t>(n0, transposed ? kTransposedColumns : kTileElements);
  const int64_t rows = std::clamp<int64_t>(kTileElements / columns, 1, n1);
  const bool stream = d0 == to && columns * to >= 64 && should_stream(args.numel * to);
  const Tiling tiling(args, columns, rows);
  const TileFunction gather = tile_copy(args.dtype[1]), place = tile_copy(args.dtype[0]);
  const ConvertFunction convert = converter(args.dtype[0], args.dtype[1]);
  parallel_for(0, tiling.count(), tiling.grain(), [&](int64_t begin, int64_t end) {
    alignas(64) char gathered[kTileElements * 8];
    alignas(64) char converted[kTileElements * 8];
    for (int64_t i = begin; i < end; ++i) {
      const Tile tile = tiling.tile(i);
      if (transposed && i + 1 < end) prefetch_inputs(args, tiling.tile(i + 1));
      if (same && !stream) {
        place(tile.data[0], d1, d0, tile.data[1], s1, s0, tile.rows, tile.columns);
        continue;
      }
      gather(gathered, tile.columns * from, from, tile.data[1], s1, s0, tile.rows, tile.columns);
      if (!same) convert(converted, gathered, tile.rows * tile.columns);
      const char* const result = same ? gathered : converted;
      if (stream) {
        stream_rows(tile.data[0], d1, result, tile.rows, tile.columns * to);
      } else {
        place(tile.data[0], d1, d0, result, tile.columns * to, to, tile.rows, tile.columns);
      }
    }
    if (stream) stream_fence();
  });
}

void copy_kernel(const PointwiseArgs& args) {
  if (is_contiguous(args, 0) && is_contiguous(args, 1)) {
    copy_contiguous(args);
  } else {
    copy_tiles(args);
  }
}

// The number lies in operand 1, in the output's dtype, with strides of 0: a copy does it.
void fill_kernel(const PointwiseArgs& args) {
  const int64_t item = item_size(args.dtype[0]);
  const bool zero =
      std::all_of(args.data[1], args.data[1] + item, [](char byte) { return byte == 0; });
  if (!zero || !is_contiguous(args, 0)) return copy_tiles(args);
  parallel_for(0, args.numel, kThreadGrain, [&](int64_t begin, int64_t end) {
    std::memset(args.data[0] + begin * item, 0, static_cast<size_t>((end - begin) * item));
  });
}

}  // namespace

void register_copy() {
  copy_op.set_kernel(DeviceType::cpu, copy_kernel);
  fill_op.set_kernel(DeviceType::cpu, fill_kernel);
}

}  // namespace aorta::cpu
