#pragma once

#include <aorta/core/cpu/pointwise_rows.h>
#include <aorta/core/dispatch/pointwise_args.h>

namespace aorta::cpu {

/// Elements of a tile at most: whole cache lines of both sides of a transposition.
inline constexpr int64_t kTileElements = 4096;
/// Elements of a row that are packed at a time: the buffers fit the first-level cache together.
inline constexpr int64_t kRowElements = 1024;
/// Columns of a tile whose operands are transposed against each other: whole cache lines of each.
inline constexpr int64_t kTransposedColumns = 64;
/// Elements that are worth a thread of their own.
inline constexpr int64_t kThreadGrain = 32768;

/// One rectangle of an iteration space: `rows` x `columns` elements, columns along dimension 0.
struct Tile {
  int64_t rows, columns;
  char* data[kMaxOperands];  // each operand's first element in the tile
};

/// A division of an iteration space (PointwiseArgs) into tiles of columns x rows.
class Tiling {
 public:
  Tiling(const PointwiseArgs& args, int64_t columns, int64_t rows);
  int64_t count() const { return count_; }
  /// Tiles that make up a thread's share.
  int64_t grain() const;
  Tile tile(int64_t index) const;

 private:
  const PointwiseArgs& args_;
  int64_t columns_, rows_;         // of a full tile
  int64_t across_, down_, count_;  // tiles along dimension 0, 1, and in all
};

/// Size of dimension `d`, 1 beyond the last.
inline int64_t extent_of(const PointwiseArgs& args, int d) {
  return d < args.ndim ? args.shape[d] : 1;
}
/// Stride in bytes, 0 beyond the last dimension.
inline int64_t stride_of(const PointwiseArgs& args, int operand, int d) {
  return d < args.ndim ? args.strides[operand][d] : 0;
}

/// Asks for the lines of a tile's transposed inputs ahead of use: they lie further apart than
/// hardware prefetchers look.
void prefetch_inputs(const PointwiseArgs& args, const Tile& tile);

/// True when an output of so many bytes is better written past the cache.
bool should_stream(int64_t bytes);

/// The functions of this CPU's instruction set.
ConvertFunction converter(DType to, DType from);
TileFunction tile_copy(DType dtype);
void stream_copy(char* destination, const char* source, int64_t bytes);
void reverse_copy(char* destination, const char* source, int64_t count, int64_t item_size);
/// Rows of `row_bytes` that follow one another in `source`, to places `stride` bytes apart.
void stream_rows(char* destination, int64_t stride, const char* source, int64_t rows,
                 int64_t row_bytes);
/// After the last stream_copy of a thread, before others read the result.
void stream_fence();

}  // namespace aorta::cpu
