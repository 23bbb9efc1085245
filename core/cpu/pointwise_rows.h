#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/dtype.h>

namespace aorta::cpu {

/// Applies a functor to `n` contiguous elements in its compute dtype. data[0] is the output. Bit k
/// of `broadcast` says that operand k is one element for all; only one input of a binary functor
/// may be. An input may be the output. The functions for f16 and bf16 convert around a functor of
/// floats; to them a broadcast operand is a float.
using RowFunction = void (*)(const void* functor, int64_t n, char* const* data, unsigned broadcast);

/// Converts `n` contiguous elements.
using ConvertFunction = void (*)(void* destination, const void* source, int64_t n);

/// Copies a tile of `rows` x `columns` elements; strides in bytes.
using TileFunction = void (*)(char* destination, int64_t row_stride, int64_t column_stride,
                              const char* source, int64_t source_row_stride,
                              int64_t source_column_stride, int64_t rows, int64_t columns);

// Tables: [op in its list][dtype]. An entry that no dtype policy admits is null.
AORTA_EACH_ISA(const RowFunction* unary_rows(); const RowFunction* binary_rows();
               const RowFunction* ternary_rows(); const RowFunction* gradient_rows();)

/// An instruction set's loops that copy. `stream` copies without reading the destination into the
/// cache, for results larger than the cache; it is weakly ordered, so a thread ends its share with
/// stream_fence(). `reverse` copies `count` elements, the last one first.
struct CopyLoops {
  const ConvertFunction* converters;  // [destination][source]
  const TileFunction* tiles;          // [log2 of the item size]
  void (*stream)(char* destination, const char* source, int64_t bytes);
  void (*reverse)(char* destination, const char* source, int64_t count, int64_t item_size);
};
AORTA_ISA_TABLE(CopyLoops, copy_loops)

}  // namespace aorta::cpu
