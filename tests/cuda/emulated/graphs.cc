// The runtime's calls about captured work and graphs. The rules are those of CUDA C++ Programming
// Guide, "Creating a Graph Using Stream Capture", and of the errors' descriptions in
// driver_types.h.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/capture.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

using namespace aorta::emulated;

struct CUgraph_st {
  std::shared_ptr<const std::vector<GraphNode>> nodes;  // null: destroyed
};

struct CUgraphExec_st {
  std::shared_ptr<const std::vector<GraphNode>> nodes;
  Point last;  // its launch before: a graph never runs twice at once
};

namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

constexpr const char* kGraphPage = "docs.nvidia.com/cuda/cuda-runtime-api, Graph Management";

// Handles are never given out twice, as those of streams.
std::deque<CUgraph_st>& graphs() {
  static auto* all = new std::deque<CUgraph_st>;
  return *all;
}
std::deque<CUgraphExec_st>& execs() {
  static auto* all = new std::deque<CUgraphExec_st>;
  return *all;
}

template <class Things, class Handle>
bool lives(const Things& things, Handle handle) {
  return std::any_of(things.begin(), things.end(),
                     [&](const auto& thing) { return &thing == handle && thing.nodes; });
}

cudaError_t not_alive(const char* name) {
  return broken(name, "the handle is one that was made and not destroyed", "", kGraphPage,
                cudaErrorInvalidValue);
}

/// True when each node comes before the last of the stream that the capture began on.
bool is_joined(const Capture& capture) {
  std::vector<bool> joined(capture.nodes.size());
  for (const size_t last : capture.origin->last_nodes) joined[last] = true;
  for (size_t i = capture.nodes.size(); i-- > 0;) {
    if (!joined[i]) return false;
    for (const size_t before : capture.nodes[i].after) joined[before] = true;
  }
  return true;
}

/// Each node once those before it are done; among several the order is anyone's.
void run_nodes(const std::vector<GraphNode>& nodes) {
  std::vector<bool> done(nodes.size());
  for (size_t round = 0; round < nodes.size(); ++round) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::vector<size_t>& after = nodes[i].after;
      const bool free =
          std::all_of(after.begin(), after.end(), [&](size_t before) { return done[before]; });
      if (!done[i] && free) ready.push_back(i);
    }
    const size_t chosen = ready[random_below(ready.size())];
    if (nodes[chosen].run && Streams::get().sticky == cudaSuccess) nodes[chosen].run();
    done[chosen] = true;
  }
}

CUstream_st* capturing_stream(cudaStream_t handle) {
  CUstream_st* stream = handle ? Streams::get().find(handle, current_device()) : nullptr;
  return stream && !stream->destroyed ? stream : nullptr;
}

}  // namespace

namespace aorta::emulated {

// CUDA Runtime API, cudaThreadExchangeStreamCaptureMode: what may wait for other work is forbidden
// to a thread that has begun a capture, unless that is a relaxed one, and by a global one to every
// thread whose own mode is global. A thread whose mode is relaxed may do it all the same.
cudaError_t forbidden_by_capture(const std::string& call) {
  static constexpr std::string_view kUnsafe[] = {
      "cudaMalloc",           "cudaFree",           "cudaHostAlloc",         "cudaFreeHost",
      "cudaHostRegister",     "cudaHostUnregister", "cudaDeviceSynchronize", "cudaEventQuery",
      "cudaEventSynchronize",
  };
  const bool unsafe = std::find(std::begin(kUnsafe), std::end(kUnsafe), call) != std::end(kUnsafe);
  return unsafe ? waits_beside_captures() : cudaSuccess;
}

cudaError_t waits_beside_captures() {
  cudaError_t error = cudaSuccess;
  for (const std::shared_ptr<Capture>& capture : Streams::get().captures()) {
    if (thread_mode == cudaStreamCaptureModeRelaxed) continue;
    const bool mine = capture->mode != cudaStreamCaptureModeRelaxed &&
                      capture->thread == std::this_thread::get_id();
    const bool others =
        capture->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal;
    if (mine || others) error = capture->invalidate(cudaErrorStreamCaptureUnsupported);
  }
  return error;
}

}  // namespace aorta::emulated

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&] {
    CUstream_st* stream = capturing_stream(handle);
    if (!stream || stream->legacy) {
      return broken("cudaStreamBeginCapture",
                    "a stream that was made, and not stream 0, is captured", "", page::kStream,
                    cudaErrorStreamCaptureUnsupported);
    }
    if (stream->capture) return cudaErrorIllegalState;
    stream->capture = std::make_shared<Capture>();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    stream->capture->origin = stream;
    stream->last_nodes.clear();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&] {
    *graph = nullptr;
    CUstream_st* stream = capturing_stream(handle);
    if (!stream || !stream->capture) {
      return broken("cudaStreamEndCapture", "the stream is captured", "", page::kStream,
                    cudaErrorIllegalState);
    }
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture->origin != stream) return capture->invalidate(cudaErrorStreamCaptureUnmatched);
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
      return cudaErrorStreamCaptureWrongThread;
    }
    const bool joined = is_joined(*capture);
    Streams::get().end(*capture);
    if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
    if (!joined) return cudaErrorStreamCaptureUnjoined;
    auto nodes = std::make_shared<const std::vector<GraphNode>>(std::move(capture->nodes));
    *graph = &graphs().emplace_back(CUgraph_st{std::move(nodes)});
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&] {
    const CUstream_st* stream = capturing_stream(handle);
    *status = !stream || !stream->capture ? cudaStreamCaptureStatusNone
              : stream->capture->valid    ? cudaStreamCaptureStatusActive
                                          : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call("cudaThreadExchangeStreamCaptureMode", [&] {
    if (*mode > cudaStreamCaptureModeRelaxed) {
      return broken("cudaThreadExchangeStreamCaptureMode", "the mode of a capture is known",
                    std::to_string(*mode), page::kStream, cudaErrorInvalidValue);
    }
    std::swap(*mode, thread_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return call("cudaGraphInstantiate", [&] {
    if (!lives(graphs(), graph)) return not_alive("cudaGraphInstantiate");
    if (flags != 0) {
      return broken("cudaGraphInstantiate", "the flags are known", std::to_string(flags),
                    kGraphPage, cudaErrorInvalidValue);
    }
    *exec = &execs().emplace_back(CUgraphExec_st{graph->nodes, {}});
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  return call("cudaGraphLaunch", [&] {
    if (!lives(execs(), exec)) return not_alive("cudaGraphLaunch");
    CUstream_st* stream = Streams::get().find(handle, current_device());
    if (!stream || stream->destroyed || stream->capture) {
      const bool captured = stream && stream->capture;
      if (captured) stream->capture->invalidate(cudaErrorStreamCaptureUnsupported);
      return broken("cudaGraphLaunch", "the stream must be one that was made and isn't captured",
                    "", page::kStream,
                    captured ? cudaErrorStreamCaptureUnsupported : cudaErrorInvalidResourceHandle);
    }
    const auto run = [nodes = exec->nodes] { run_nodes(*nodes); };
    const cudaError_t error = Streams::get().queue(*stream, {"graph", run, {exec->last}});
    exec->last = {stream, stream->queued};
    return error;
  });
}

// Legal while a launch of it is queued: that is still done.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call("cudaGraphExecDestroy", [&] {
    if (!lives(execs(), exec)) return not_alive("cudaGraphExecDestroy");
    exec->nodes = nullptr;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&] {
    if (!lives(graphs(), graph)) return not_alive("cudaGraphDestroy");
    graph->nodes = nullptr;
    return cudaSuccess;
  });
}
}
