#pragma once

#include <aorta/core/body/limits.h>
#include <aorta/core/host_device.h>

#include <cstdint>

namespace aorta::body {

/// Where an output position along one dimension reads. With j = i - shift:
///   none       j, always inside
///   constant   j where 0 <= j < source_size, else the fill
///   reflect    j, mirrored at the first and last element, which aren't repeated
///   replicate  j, limited to the ends
///   circular   j, wrapped round (once)
///   flip       source_size - 1 - i
enum class Edge : uint8_t { none, constant, reflect, replicate, circular, flip };

/// One dimension; strides in elements.
struct RemapDim {
  int64_t size = 1;
  int64_t source_size = 1;
  int64_t shift = 0;
  int64_t stride = 0;
  int64_t source_stride = 0;
  Edge edge = Edge::none;
};

/// Element i of the output is a source element that each dimension's rule finds alone, or the fill.
/// What flip, roll and pad are. The output doesn't share memory with the source.
struct RemapArgs {
  int ndim = 0;
  int64_t numel = 1;        // of the output
  RemapDim dims[kMaxDims];  // innermost first
  const void* source = nullptr;
  void* output = nullptr;
  int64_t item_size = 4;         // bytes: 1, 2, 4 or 8
  alignas(8) char fill[8] = {};  // one element
};

/// The source position of output position `i`, or -1 for the fill.
AORTA_INLINE int64_t source_position(const RemapDim& dim, int64_t i) {
  const int64_t j = i - dim.shift, n = dim.source_size;
  switch (dim.edge) {
    case Edge::none:
      return j;
    case Edge::constant:
      return j >= 0 && j < n ? j : -1;
    case Edge::reflect:
      return j < 0 ? -j : j >= n ? 2 * (n - 1) - j : j;
    case Edge::replicate:
      return j < 0 ? 0 : j >= n ? n - 1 : j;
    case Edge::circular:
      return j < 0 ? j + n : j >= n ? j - n : j;
    case Edge::flip:
      return n - 1 - i;
  }
  return j;
}

/// body(i) writes the i-th element of the output, counted with dims[0] fastest.
template <class Item>
struct RemapBody {
  RemapArgs args;

  AORTA_INLINE void operator()(int64_t i) const {
    int64_t to = 0, from = 0;
    bool filled = false;
    for (int d = 0; d < args.ndim; ++d) {
      const RemapDim& dim = args.dims[d];
      const int64_t position = i % dim.size;
      i /= dim.size;
      const int64_t source = source_position(dim, position);
      filled |= source < 0;
      to += position * dim.stride;
      from += source * dim.source_stride;
    }
    static_cast<Item*>(args.output)[to] = filled ? *reinterpret_cast<const Item*>(args.fill)
                                                 : static_cast<const Item*>(args.source)[from];
  }
};

/// A batch of matrices (rows, columns), of which one triangle is kept; strides in elements. The
/// output may be the input.
struct TriangleArgs {
  int64_t numel = 0;  // of the output
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;
  int64_t source_row_stride = 0, source_column_stride = 0;
  int batch_dims = 0;
  int64_t batch_shape[kMaxDims];  // innermost first
  int64_t batch_strides[kMaxDims];
  int64_t source_batch_strides[kMaxDims];
  int64_t diagonal = 0;
  bool upper = false;  // keep column - row >= diagonal, else column - row <= diagonal
  int64_t item_size = 4;
  const void* source = nullptr;
  void* output = nullptr;
};

/// body(i) writes the i-th element of the output in row-major order.
template <class Item>
struct TriangleBody {
  TriangleArgs args;

  AORTA_INLINE void operator()(int64_t i) const {
    const int64_t column = i % args.columns;
    i /= args.columns;
    const int64_t row = i % args.rows;
    i /= args.rows;
    int64_t to = row * args.row_stride + column * args.column_stride;
    int64_t from = row * args.source_row_stride + column * args.source_column_stride;
    for (int d = 0; d < args.batch_dims; ++d) {
      const int64_t position = i % args.batch_shape[d];
      i /= args.batch_shape[d];
      to += position * args.batch_strides[d];
      from += position * args.source_batch_strides[d];
    }
    const int64_t above = column - row;
    const bool keep = args.upper ? above >= args.diagonal : above <= args.diagonal;
    static_cast<Item*>(args.output)[to] =
        keep ? static_cast<const Item*>(args.source)[from] : Item(0);
  }
};

}  // namespace aorta::body
