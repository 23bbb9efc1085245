#pragma once

#include <aorta/core/comm.h>

#include <span>

namespace aorta::kernel {

/// What the engines of collectives compute: the reduction of the ranks' tensors, of one shape,
/// dtype and device, by rank. It goes in the order of ranks, ((x0 + x1) + x2) + ..., sums of half
/// types in f32, which are rounded once, so that every engine gives the same bits.
Tensor reduced_over_ranks(std::span<const Tensor> tensors, ReduceOp op);

/// Writes `root`'s values into all ranks' tensors, outside of the graph; those of one dtype and
/// device go in one piece.
void broadcast_together(std::span<const Tensor> tensors, Communicator& group, int root);

}  // namespace aorta::kernel
