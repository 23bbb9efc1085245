#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/tensor.h>

#include <span>

namespace aorta::kernel {

/// One tensor of many: its elements, one after another in any order.
struct NormTensor {
  const void* data;
  int64_t count;
  int64_t first;  // sum of the counts of the tensors before it
};

/// The p-norm of all elements of tensors of one dtype on one device, together.
struct TotalNormArgs {
  double p;
  DType dtype;
  std::span<const NormTensor> tensors;
  double* result;  // on the device
};

/// The row of norms of many tensors, for devices where each tensor's own would be a launch: the CPU
/// has none.
using TotalNormKernel = void (*)(const TotalNormArgs& args);
extern Op<TotalNormKernel, NoGradient> total_norm_op;
/// Runs it for dense tensors that aren't empty: f64, 0-d.
Tensor total_norm(std::span<const Tensor> tensors, double p);

}  // namespace aorta::kernel
