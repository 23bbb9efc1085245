#include <aorta/core/cpu/tiles.h>
#include <aorta/core/parallel_for.h>

#include <unistd.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Tiling::Tiling(const PointwiseArgs& args, int64_t columns, int64_t rows)
    : args_(args), columns_(columns), rows_(rows) {
  across_ = ceil_div(extent_of(args, 0), columns);
  down_ = ceil_div(extent_of(args, 1), rows);
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

bool should_stream(int64_t bytes) {
  static const int64_t limit = std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 16 << 20) / 2;
  return bytes >= limit;
}

ConvertFunction converter(DType to, DType from) {
  static const ConvertFunction* const table =
      for_isa(v2::converters, v3::converters, v4::converters)();
  return table[kDTypeCount * static_cast<int>(to) + static_cast<int>(from)];
}

TileFunction tile_copy(DType dtype) {
  static const TileFunction* const table =
      for_isa(v2::tile_copies, v3::tile_copies, v4::tile_copies)();
  return table[__builtin_ctzll(static_cast<uint64_t>(item_size(dtype)))];
}

void stream_copy(char* destination, const char* source, int64_t bytes) {
  static const auto function = for_isa(v2::stream_copy, v3::stream_copy, v4::stream_copy);
  function(destination, source, bytes);
}

}  // namespace aorta::cpu
