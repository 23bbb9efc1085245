#pragma once

#include <aorta/cuda/cudnn_plan.h>

#include <functional>
#include <memory>
#include <vector>

namespace aorta::cuda {

/// A call that cuDNN may compute.
struct CudnnCall {
  const char* op;
  int device;
  std::vector<int64_t> key;  // begins with its kind; equal for calls that the same plan is good for
  /// The engine for such calls; null for none.
  std::function<std::shared_ptr<const CudnnEngine>(cudnnHandle_t)> find;
  /// Queues it on the handle's stream. May throw ResourceError where memory is short.
  std::function<void(const CudnnEngine&, cudnnHandle_t)> queue;
};

/// Queues a call on the current stream of its device, which is current, by an engine that is looked
/// for when the key is new; false where there is none, or no room for what it needs.
bool run_by_cudnn(const CudnnCall& call);

}  // namespace aorta::cuda
