#pragma once

#include <aorta/core/comm.h>

#include <memory>

namespace aorta::nn {

/// The ends of a group of `size` threads of this process, by rank: what the replicas of a
/// DataParallel speak through. Reductions add in the order of ranks, sums of half types in f32;
/// each rank computes its share of the elements. Tensors may lie on any device, each rank's on
/// another.
std::vector<std::unique_ptr<Communicator>> local_communicators(int size,
                                                               const CommOptions& options = {});

}  // namespace aorta::nn
