#pragma once

#include <aorta/core/comm.h>
#include <aorta/core/ops/normalization.h>

namespace aorta::nn {

/// batch_norm in training with the statistics of all ranks' inputs (N_r, C, *), in which N_r may be
/// another on each rank and 0 on some; the running statistics become the same on all. Two
/// all-reduces of C numbers in f64, forward and in each backward pass. Composed of differentiable
/// ops, on any device. Of the options eps, momentum, relu and residual are heard. Ioffe and Szegedy
/// 2015, over ranks as in PyTorch's SyncBatchNorm.
Tensor sync_batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                       const Tensor& weight, const Tensor& bias,
                       const BatchNormFuncOptions& options, Communicator& group);

}  // namespace aorta::nn
