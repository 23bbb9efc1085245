#pragma once

#include <cuda_runtime.h>

namespace aorta::cuda {

/// True when a call succeeded. Else its error is an answer, and isn't left for the next launch to
/// find; "not ready" leaves none, and what lies there is another call's.
inline bool succeeded(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) cudaGetLastError();
  return error == cudaSuccess;
}

/// While one lives, a capture that another thread or this one has begun doesn't forbid this thread
/// calls that may wait (cudaThreadExchangeStreamCaptureMode), and they don't end it. For those that
/// name a stream or an event: what is captured itself is waited for in no mode.
class BesideCaptures {
 public:
  BesideCaptures() : entered_(succeeded(cudaThreadExchangeStreamCaptureMode(&mode_))) {}
  // A thread that stayed so would break captures unseen: what fails is tried once more.
  ~BesideCaptures() {
    for (int i = 0; entered_ && i < 2; ++i) {
      if (succeeded(cudaThreadExchangeStreamCaptureMode(&mode_))) break;
    }
  }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  bool entered_;
};

}  // namespace aorta::cuda
