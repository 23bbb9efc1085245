#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {

Tiling::Tiling(const PointwiseArgs& args, int64_t columns, int64_t rows)
    : args_(args), columns_(columns), rows_(rows) {
  across_ = divide_up(extent_of(args, 0), columns);
  down_ = divide_up(extent_of(args, 1), rows);
  count_ = across_ * down_;
  for (int d = 2; d < args.ndim; ++d) count_ *= args.shape[d];
}

int64_t Tiling::grain() const { return std::max<int64_t>(kThreadGrain / (columns_ * rows_), 1); }

Tile Tiling::tile(int64_t index) const {
  const int64_t column = index % across_ * columns_;
  index /= across_;
  const int64_t row = index % down_ * rows_;
  index /= down_;
  Tile tile;
  tile.columns = std::min(columns_, extent_of(args_, 0) - column);
  tile.rows = std::min(rows_, extent_of(args_, 1) - row);
  for (int k = 0; k < args_.operands; ++k) {
    tile.data[k] = args_.data[k] + column * stride_of(args_, k, 0) + row * stride_of(args_, k, 1);
  }
  for (int d = 2; d < args_.ndim; ++d) {
    const int64_t i = index % args_.shape[d];
    index /= args_.shape[d];
    for (int k = 0; k < args_.operands; ++k) tile.data[k] += i * args_.strides[k][d];
  }
  return tile;
}

void prefetch_inputs(const PointwiseArgs& args, const Tile& tile) {
  // Into the second-level cache: lines that lie a power of 2 apart share the few ways of a set of
  // the first.
  for (int k = 1; k < args.operands; ++k) {
    const int64_t s0 = stride_of(args, k, 0), s1 = stride_of(args, k, 1);
    const int64_t bytes = s1 < s0 ? tile.rows * s1 : tile.columns * s0;
    const int64_t lines = s1 < s0 ? tile.columns : tile.rows, step = std::max(s0, s1);
    for (int64_t i = 0; i < lines; ++i) {
      for (int64_t j = 0; j < bytes; j += 64) __builtin_prefetch(tile.data[k] + i * step + j, 0, 2);
    }
  }
}

bool should_stream(int64_t bytes) {
  // More than the cores of a socket share of a last-level cache; what sysconf says of it is wrong
  // by a factor of ten in some virtual machines.
  return bytes >= 32 << 20;
}

ConvertFunction converter(DType to, DType from) {
  return copy_loops().converters[kDTypeCount * static_cast<int>(to) + static_cast<int>(from)];
}

TileFunction tile_copy(DType dtype) {
  return copy_loops().tiles[__builtin_ctzll(static_cast<uint64_t>(item_size(dtype)))];
}

void stream_copy(char* destination, const char* source, int64_t bytes) {
  copy_loops().stream(destination, source, bytes);
}

void reverse_copy(char* destination, const char* source, int64_t count, int64_t item_size) {
  copy_loops().reverse(destination, source, count, item_size);
}

void stream_rows(char* destination, int64_t stride, const char* source, int64_t rows,
                 int64_t row_bytes) {
  for (int64_t r = 0; r < rows; ++r) {
    stream_copy(destination + r * stride, source + r * row_bytes, row_bytes);
  }
}

void stream_fence() { __builtin_ia32_sfence(); }

}  // namespace aorta::cpu
