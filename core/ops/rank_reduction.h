#pragma once

#include <aorta/core/comm.h>

#include <span>

namespace aorta::kernel {

/// What the engines of collectives compute: the reduction of the ranks' tensors, of one shape,
/// dtype and device, by rank. It goes in the order of ranks, ((x0 + x1) + x2) + ..., sums of half
/// types in f32, which are rounded once, so that every engine gives the same bits.
Tensor reduced_over_ranks(std::span<const Tensor> tensors, ReduceOp op);

}  // namespace aorta::kernel
