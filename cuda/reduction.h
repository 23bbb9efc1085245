#pragma once

#include <aorta/core/dispatch/reduce_args.h>
#include <aorta/cuda/rows.h>

namespace aorta::cuda {

/// The reducers are compiled in parts: reducer i of scalar::ReduceOps stands in part
/// i % kReductionParts.
inline constexpr int kReductionParts = 4;

/// Fills `kernels`, which has a place for each reducer, with those of one part.
template <int part>
void list_reduction_part(ReduceKernel* kernels);

/// How a reduction is divided among threads. It depends on the shape alone, so that a result is the
/// same bits on every GPU. A block has `kept_lanes` x `reduced_lanes` threads; a thread takes every
/// `reduced_lanes`-th element of its block's chunk for one output, and lanes are joined by a tree.
struct ReductionShape {
  bool kept_fast = false;  // neighbouring threads take neighbouring outputs, else elements
  int kept_lanes = 1, reduced_lanes = 1;
  int64_t chunk = 0;   // elements of the reduced dimensions that a block takes
  int64_t chunks = 1;  // more than 1: a second pass joins their states

  static ReductionShape choose(const ReduceArgs& args);
};

}  // namespace aorta::cuda
