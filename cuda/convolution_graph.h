#pragma once

#include <aorta/cuda/convolution_shape.h>
#include <aorta/cuda/cudnn_plan.h>

#include <memory>
#include <vector>

namespace aorta::cuda {

/// A convolution as cuDNN is asked for it: all that an engine is chosen by, and no pointers.
struct ConvolutionProblem {
  kernel::ConvolutionArgs args;  // its sizes and its dtype
  ConvResult result = ConvResult::y;
  bool bias = false;                                                                  // of y
  int64_t x_alignment = 16, y_alignment = 16, w_alignment = 16, bias_alignment = 16;  // in bytes
  bool tf32 = false, deterministic = false, winograd = false;  // what engines may do
  bool timed = false;                                          // how one is chosen

  /// The problem of a call, with what the switches say now. w is taken as (O, *kernel, C/groups)
  /// contiguous, at a multiple of `w_alignment`.
  static ConvolutionProblem make(const kernel::ConvolutionArgs& args, ConvResult result,
                                 int64_t w_alignment);
  /// Equal for problems that the same plan is good for.
  std::vector<int64_t> key() const;
};

/// The engines that take it and do nothing they may not, the first `most` in the order of cuDNN's
/// heuristics. Errors name `op`.
std::vector<std::unique_ptr<CudnnEngine>> find_convolutions(const ConvolutionProblem& problem,
                                                            const CudnnTarget& target,
                                                            const char* op, size_t most);

/// Where the tensors of a call lie.
CudnnPointers pointers_of(const kernel::ConvolutionArgs& args, const void* w);

}  // namespace aorta::cuda
