#pragma once

#include <aorta/core/ops/attention.h>
#include <aorta/cuda/cudnn_plan.h>

#include <memory>
#include <vector>

namespace aorta::cuda {

/// Attention as cuDNN is asked for it: all that an engine is chosen by, and no pointers.
struct AttentionProblem {
  kernel::AttentionBackwardArgs args;  // sizes, strides and the dtype; causal or not
  bool backward = false;
  bool deterministic = false;

  /// The problem of a call, with what the switches say now.
  static AttentionProblem make(const kernel::AttentionKernelArgs& args);
  static AttentionProblem make(const kernel::AttentionBackwardArgs& args);
  /// Equal for problems that the same plan is good for.
  std::vector<int64_t> key() const;
};

/// The engine that takes it and does nothing it may not, the first in the order of cuDNN's
/// heuristics; null for none. Errors name `op`.
std::unique_ptr<CudnnEngine> find_attention(const AttentionProblem& problem,
                                            const CudnnTarget& target, const char* op);

/// What a call takes by value, and f32 memory that the backward pass works in beside an engine's
/// workspace: the rows' products of the output and its gradient (N, H, L), and the query's gradient
/// before it is rounded (N, H, L, E).
struct AttentionScratch {
  float scale = 1;
  void *products = nullptr, *query_gradient = nullptr;

  static int64_t product_bytes(const kernel::AttentionKernelArgs& args);
  static int64_t gradient_bytes(const kernel::AttentionKernelArgs& args);
};

/// Where the tensors of a call lie; `scratch` is read until it is queued.
CudnnPointers pointers_of(const kernel::AttentionKernelArgs& args, const AttentionScratch& scratch);
CudnnPointers pointers_of(const kernel::AttentionBackwardArgs& args,
                          const AttentionScratch& scratch);

}  // namespace aorta::cuda
