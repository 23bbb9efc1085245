#pragma once

#include <aorta/core/comm.h>

#include <span>

namespace aorta::kernel {

/// What the engines of collectives compute: the reduction of the ranks' tensors (N), of one dtype
/// and device, by rank, into `output`, which may be one of them. It goes in the order of ranks,
/// ((x0 + x1) + x2) + ..., sums of half types in f32, which are rounded once, so that every engine
/// gives the same bits.
void reduce_over_ranks(const Tensor& output, std::span<const Tensor> tensors, ReduceOp op);

/// Communicator::all_reduce_coalesced, but of a GPU's tensors in one piece: it copies faster than
/// it begins a collective.
void all_reduce_together(const List<Tensor>& tensors, Communicator& group, ReduceOp op);

/// Writes `root`'s values into all ranks' tensors, outside of the graph; those of one dtype and
/// device go in one piece.
void broadcast_together(std::span<const Tensor> tensors, Communicator& group, int root);

}  // namespace aorta::kernel
