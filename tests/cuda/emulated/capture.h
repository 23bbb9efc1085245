#pragma once

#include <aorta/tests/cuda/emulated/graphs.h>

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
};

/// What keeps a call from being made while a graph is captured: an error, and the capture is
/// invalid.
cudaError_t forbidden_by_capture(const std::string& call);

}  // namespace aorta::emulated
