#pragma once

#include <aorta/core/dispatch/reduce_args.h>
#include <aorta/cuda/rows.h>

#include <algorithm>
#include <bit>

namespace aorta::cuda {

/// The reducers are compiled in parts: reducer i of scalar::ReduceOps stands in part
/// i % kReductionParts.
inline constexpr int kReductionParts = 4;

/// Fills `kernels`, which has a place for each reducer, with those of one part.
template <int part>
void list_reduction_part(ReduceKernel* kernels);

/// What a thread takes at a time: a block of neighbours that are reduced, a block of neighbours
/// that are kept, or one element of any dtype with any strides.
enum class ReductionWay : uint8_t { rows, columns, any };

/// Neighbours in memory that a thread takes at a time: 16 bytes of rows.
constexpr int row_block(int64_t item_bytes) { return static_cast<int>(16 / item_bytes); }
/// Neighbours of columns, each of which has a state in the thread's registers: 8 at most.
constexpr int column_block(int64_t item_bytes, size_t state_bytes) {
  const auto states = std::bit_floor(std::clamp<size_t>(64 / state_bytes, 1, 8));
  return std::min(row_block(item_bytes), static_cast<int>(states));
}

/// How a reduction is divided among threads. It depends on the shape alone, so that a result is the
/// same bits on every GPU. A block has `kept_lanes` x `reduced_lanes` threads; a thread takes every
/// `reduced_lanes`-th unit of its block's chunk, and lanes are joined by a tree. A unit is a block
/// of neighbours in rows, else an element; an output of `outputs` is a block of them in columns.
struct ReductionShape {
  ReductionWay way = ReductionWay::any;
  bool kept_fast = false;  // neighbouring threads take neighbouring outputs, else units
  int kept_lanes = 1, reduced_lanes = 1;
  int64_t outputs = 1;
  int64_t chunk = 0;   // units that a block of threads takes
  int64_t chunks = 1;  // more than 1: a second pass joins their states

  /// The way of blocks for elements that are `typed`: known when the kernel is compiled.
  static ReductionShape choose(const ReduceArgs& args, bool typed, size_t state_bytes);
  /// The second pass.
  static ReductionShape join(int64_t outputs, int64_t chunks);

  int64_t groups() const { return (outputs + kept_lanes - 1) / kept_lanes; }
  unsigned threads() const { return static_cast<unsigned>(kept_lanes * reduced_lanes); }
};

}  // namespace aorta::cuda
