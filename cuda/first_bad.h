#pragma once

#include <aorta/core/recording.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/wait.h>

#include <optional>

namespace aorta::cuda {

/// Where an op's kernels note the place of the first bad value that they see, by atomicMin. The
/// host waits for it; that of a captured step is looked at when its launch is done.
class FirstBad {
 public:
  FirstBad(const char* op, int device, cudaStream_t stream) : op_(op), stream_(stream) {
    if (kernel::Recording* recording = kernel::Recording::current())
      recorded_ = recording->first_bad(op);
    else
      own_.emplace(sizeof *data(), device);
    check_cuda(cudaMemsetAsync(data(), 0xff, sizeof *data(), stream), op);
  }

  unsigned long long* data() const {
    return recorded_ ? recorded_ : own_->as<unsigned long long>();
  }
  /// After the kernels: the place, or -1; of a captured step always -1.
  int64_t wait() const {
    int64_t first = -1;  // all bits set, as the memory is
    if (recorded_) return first;
    check_cuda(cudaMemcpyAsync(&first, data(), sizeof first, cudaMemcpyDeviceToHost, stream_), op_);
    wait_for_copy(stream_, op_);
    return first;
  }

 private:
  const char* op_;
  cudaStream_t stream_;
  unsigned long long* recorded_ = nullptr;
  std::optional<Workspace> own_;
};

}  // namespace aorta::cuda
