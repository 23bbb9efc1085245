#pragma once

#include <aorta/cuda/convolution_shape.h>
#include <aorta/cuda/cudnn.h>

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

/// Where a plan will run.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  /// Instead of a handle, a finalized description of a GPU: plans are made without one, to be
  /// looked at.
  cudnnBackendDescriptor_t device = nullptr;
};

/// A plan of cuDNN's by one of its engines, and what it was made from.
class ConvolutionEngine {
 public:
  /// Asks cuDNN's heuristics, and walks along their list until an engine takes the problem that
  /// does nothing it may not; null where none does. Errors name `op`.
  static std::unique_ptr<ConvolutionEngine> find(const ConvolutionProblem& problem,
                                                 const CudnnTarget& target, const char* op);
  /// The first `most` of them in the list's order.
  static std::vector<std::unique_ptr<ConvolutionEngine>> find_some(
      const ConvolutionProblem& problem, const CudnnTarget& target, const char* op, size_t most);

  /// Its number among those of its kind.
  int64_t index() const { return index_; }
  /// Bytes that it needs while it runs.
  int64_t workspace() const { return workspace_; }
  /// Queues it on the handle's stream. `workspace` is null where it needs none.
  void run(const kernel::ConvolutionArgs& args, const void* w, void* workspace,
           cudnnHandle_t handle, const char* op) const;

 private:
  using Parts = std::shared_ptr<const std::vector<CudnnDescriptor>>;
  ConvolutionEngine(Parts graph, Parts made_from, CudnnDescriptor plan, int64_t index);

  Parts graph_, made_from_;
  CudnnDescriptor plan_;
  int64_t index_, workspace_;
};

}  // namespace aorta::cuda
