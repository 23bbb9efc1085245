#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace aorta::emulated {

/// A piece of captured work. Its parameters are those of the capture, each time that it runs.
struct GraphNode {
  std::string name;
  std::function<void()> run;
  std::vector<size_t> after;  // nodes that come before it
};

/// What streams do between cudaStreamBeginCapture and cudaStreamEndCapture: nothing of it runs.
struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;  // that began it
  CUstream_st* origin = nullptr;
  bool active = true, valid = true;
  std::vector<GraphNode> nodes;

  /// A broken rule makes the capture useless: its end gives no graph.
  cudaError_t invalidate(cudaError_t error) {
    valid = false;
    return error;
  }
  /// An event of it is asked or waited for. Once it is over the event stands for nothing.
  cudaError_t event_is_used() {
    return active ? invalidate(cudaErrorCapturedEvent) : cudaErrorInvalidValue;
  }
};

/// What keeps a call from being made while a graph is captured: an error, and the capture is
/// invalid.
cudaError_t forbidden_by_capture(const std::string& call);
/// Does the same for a call that may wait for other work, whichever it is.
cudaError_t waits_beside_captures();

}  // namespace aorta::emulated
