// Bugs in captured work and in graphs. The numbers are those of the list of cases in README.md.
#include <aorta/tests/cuda/emulated/planted.h>

#include <thread>

namespace aorta::emulated {
namespace {

using PlantedGraphs = Planted;

__global__ void set_from(const float* value, float* out, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) out[i] = *value;
}

void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  EXPECT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
}

/// What a capture ends with; its graph, if there is one, is thrown away.
cudaError_t end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  EXPECT_EQ(graph != nullptr, error == cudaSuccess);
  if (graph) cudaGraphDestroy(graph);
  return error;
}

/// A graph of what `work` queues on a stream.
cudaGraphExec_t graph_of(cudaStream_t stream, const std::function<void()>& work) {
  begin(stream);
  work();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess) << "the other stays";
  return exec;
}

void replay(cudaGraphExec_t exec, cudaStream_t stream) {
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  cudaStreamSynchronize(stream);
}

const std::vector<float> kZeros(64), kOnes(64, 1);

}  // namespace

// Captured work is done when its graph is launched, each time, and not before.
TEST_F(PlantedGraphs, NothingRunsWhileItIsCaptured) {
  float* in = on_device(kOnes);
  float* out = on_device(kZeros);
  const cudaStream_t stream = new_stream();
  const cudaGraphExec_t exec = graph_of(
      stream, [&] { start(add_to, 1, 32, stream, static_cast<const float*>(in), out, 64); });
  EXPECT_EQ(on_host(out, 64), kZeros);
  replay(exec, stream);
  replay(exec, stream);
  EXPECT_EQ(on_host(out, 64), std::vector<float>(64, 2));
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess) << "a launch of it is queued";
  EXPECT_EQ(on_host(out, 64), std::vector<float>(64, 3));
  EXPECT_EQ(found(), "");
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the handle is one that was made and not destroyed"));
}

// 8: whether an event of the capture is done is asked, as an allocator does before it gives memory.
TEST_F(PlantedGraphs, AnEventOfTheCaptureIsAsked) {
  float* data = on_device(kZeros);
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  for (const bool asks : {false, true}) {
    begin(stream, cudaStreamCaptureModeRelaxed);
    start(set_all, 1, 32, stream, data, 64, 1.0f);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    if (asks) {
      EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
    }
    EXPECT_EQ(end(stream), asks ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
  }
  const cudaEvent_t other = new_event();
  begin(stream);
  EXPECT_EQ(cudaEventQuery(other), cudaErrorStreamCaptureUnsupported) << "of any, in global mode";
  cudaStreamCaptureStatus status{};
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
}

// A thread may say that a capture of another, or of its own, is not to forbid it such calls.
TEST_F(PlantedGraphs, AThreadAsksBesideTheCapture) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    begin(stream, mode);
    cudaStreamCaptureMode own = cudaStreamCaptureModeRelaxed;
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&own), cudaSuccess);
    EXPECT_EQ(own, cudaStreamCaptureModeGlobal) << "what it was";
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&own), cudaSuccess);
    EXPECT_EQ(own, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(end(stream), cudaSuccess);
  }
  begin(stream);
  std::thread([&] {
    cudaStreamCaptureMode own = cudaStreamCaptureModeThreadLocal;
    cudaThreadExchangeStreamCaptureMode(&own);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "another thread's capture";
  }).join();
  EXPECT_EQ(end(stream), cudaSuccess);
  cudaStreamCaptureMode unknown = static_cast<cudaStreamCaptureMode>(7);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&unknown), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the mode of a capture is known"));
}

TEST_F(PlantedGraphs, ARuleWithoutAPageIsNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(report("a call", "a rule", "", ""), "a rule names the page that it comes from");
}

// 9: memory is asked for, or given back, while a graph is captured: by any thread.
TEST_F(PlantedGraphs, MemoryIsAskedForWhileAGraphIsCaptured) {
  const cudaStream_t stream = new_stream();
  void* data = nullptr;
  cudaError_t error = cudaSuccess;
  const auto ask = [&] { error = cudaMalloc(&data, 256); };
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    begin(stream, mode);
    std::thread(ask).join();
    const bool global = mode == cudaStreamCaptureModeGlobal;
    EXPECT_EQ(error, global ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
    if (!global) ask();
    EXPECT_EQ(error, cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaFree(data), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(start(set_all, 1, 32, stream, static_cast<float*>(data), 64, 1.0f),
              cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(stream), cudaErrorStreamCaptureInvalidated);
    ask();
    EXPECT_EQ(error, cudaSuccess) << "once it is over";
  }
}

// 10: two graphs use one workspace, and it goes with the first.
TEST_F(PlantedGraphs, GraphsShareAWorkspace) {
  for (const bool own : {true, false}) {
    float* workspace = on_device(kZeros);
    float* of_second = own ? on_device(kZeros) : workspace;
    float* out = on_device(kZeros);
    const cudaStream_t stream = new_stream();
    const auto through = [&](float* between) {
      return graph_of(stream, [&, between] {
        start(set_all, 1, 32, stream, between, 64, 1.0f);
        start(add_to, 1, 32, stream, static_cast<const float*>(between), out, 64);
      });
    };
    const cudaGraphExec_t first = through(workspace), second = through(of_second);
    replay(first, stream);
    replay(second, stream);
    cudaGraphExecDestroy(first);
    cudaFree(workspace);
    cudaGraphLaunch(second, stream);
    if (own) {
      EXPECT_EQ(found(), "");
    } else {
      EXPECT_TRUE(finds("a kernel touches memory that is allocated"));
    }
  }
}

// 11: what was freed within a capture is given to somebody outside of it.
TEST_F(PlantedGraphs, ATemporaryIsGivenToAnOutsider) {
  for (const bool kept : {true, false}) {
    float* temporary = on_device(kZeros);
    float* out = on_device(kZeros);
    const cudaStream_t stream = new_stream();
    const cudaGraphExec_t exec = graph_of(stream, [&] {
      start(set_all, 1, 32, stream, temporary, 64, 3.0f);
      start(add_to, 1, 32, stream, static_cast<const float*>(temporary), out, 64);
    });
    float* outsider = kept ? on_device(kZeros) : temporary;
    start(set_all, 1, 32, stream, outsider, 64, 1.0f);
    replay(exec, stream);
    EXPECT_EQ(on_host(outsider, 64) == kOnes, kept);
  }
}

// 12: a learning rate that changes: a number stays what it was when the graph was captured.
TEST_F(PlantedGraphs, NumbersAreFrozen) {
  for (const bool in_memory : {true, false}) {
    float rate = 1;
    float* rate_there = on_device(std::vector<float>{rate});
    float* out = on_device(kZeros);
    const cudaStream_t stream = new_stream();
    const cudaGraphExec_t exec = graph_of(stream, [&] {
      if (in_memory) {
        start(set_from, 1, 32, stream, static_cast<const float*>(rate_there), out, 64);
      } else {
        start(set_all, 1, 32, stream, out, 64, rate);
      }
    });
    replay(exec, stream);
    EXPECT_EQ(on_host(out, 64), kOnes);
    rate = 2;
    start(set_all, 1, 32, stream, rate_there, 1, rate);
    replay(exec, stream);
    EXPECT_EQ(on_host(out, 64) == std::vector<float>(64, rate), in_memory);
  }
}

// Host memory is read late too: a captured copy reads it at each launch, pageable or not.
TEST_F(PlantedGraphs, ACapturedCopyReadsTheHostLater) {
  for (const bool waits : {true, false}) {
    std::vector<float> host(64, 1);
    float* there = on_device(kZeros);
    const cudaStream_t stream = new_stream();
    const cudaGraphExec_t exec = graph_of(stream, [&] {
      EXPECT_EQ(cudaMemcpyAsync(there, host.data(), 256, cudaMemcpyHostToDevice, stream),
                cudaSuccess);
    });
    cudaGraphLaunch(exec, stream);
    if (waits) cudaStreamSynchronize(stream);
    host.assign(64, 2);
    EXPECT_EQ(on_host(there, 64) == kOnes, waits);
  }
}

// Branches of a graph have no order but that of events.
TEST_F(PlantedGraphs, BranchesWithoutAnEvent) {
  for (const bool waits : {true, false}) {
    const cudaStream_t stream = new_stream(), branch = new_stream();
    float* data = on_device(kZeros);
    float* out = on_device(kZeros);
    const cudaGraphExec_t exec = graph_of(stream, [&] {
      start(set_all, 1, 32, stream, data, 64, 0.0f);
      order(stream, branch);
      start(set_all, 1, 32, branch, data, 64, 1.0f);
      if (waits) order(branch, stream);
      start(add_to, 1, 32, stream, static_cast<const float*>(data), out, 64);
      order(branch, stream);
    });
    float launches = 0;
    bool right = true;
    for (; launches < 64 && right; ++launches) {
      replay(exec, stream);
      right = on_host(out, 64) == std::vector<float>(64, launches + 1);
    }
    EXPECT_EQ(right, waits);
  }
}

// A graph waits for its launch before, on whatever stream that was.
TEST_F(PlantedGraphs, LaunchesOfOneGraphHaveAnOrder) {
  float* in = on_device(kOnes);
  float* out = on_device(kZeros);
  const cudaStream_t a = new_stream(), b = new_stream();
  const cudaGraphExec_t exec =
      graph_of(a, [&] { start(add_to, 1, 32, a, static_cast<const float*>(in), out, 64); });
  EXPECT_EQ(cudaGraphLaunch(exec, a), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, b), cudaSuccess);
  std::vector<float> result(64);
  cudaMemcpyAsync(result.data(), out, 256, cudaMemcpyDeviceToHost, b);
  cudaStreamSynchronize(b);
  EXPECT_EQ(result, std::vector<float>(64, 2));
}

TEST_F(PlantedGraphs, CapturesHaveRules) {
  float* data = on_device(kZeros);
  const cudaStream_t a = new_stream(), b = new_stream();
  const cudaEvent_t event = new_event();

  begin(a);
  EXPECT_EQ(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(a), cudaErrorStreamCaptureInvalidated);

  begin(a);
  order(a, b);
  start(set_all, 1, 32, b, data, 64, 1.0f);
  EXPECT_EQ(end(a), cudaErrorStreamCaptureUnjoined);

  EXPECT_EQ(cudaEventRecord(event, b), cudaSuccess);
  begin(a);
  EXPECT_EQ(cudaStreamWaitEvent(a, event, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(a), cudaErrorStreamCaptureInvalidated);

  begin(a);
  begin(b);
  EXPECT_EQ(cudaEventRecord(event, a), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b, event, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(end(a), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(b), cudaErrorStreamCaptureInvalidated);

  begin(a);
  cudaError_t error = cudaSuccess;
  std::thread([&] { error = end(a); }).join();
  EXPECT_EQ(error, cudaErrorStreamCaptureWrongThread);
  EXPECT_EQ(end(a), cudaSuccess);

  // In any mode nobody waits for a device whose stream is captured.
  begin(a, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(a), cudaErrorStreamCaptureInvalidated);
  begin(a, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamQuery(a), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(a), cudaErrorStreamCaptureInvalidated);
  begin(a, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess) << "another stream is";
  EXPECT_EQ(end(a), cudaSuccess);
  begin(a);
  EXPECT_EQ(cudaStreamSynchronize(b), cudaErrorStreamCaptureUnsupported) << "in relaxed mode alone";
  EXPECT_EQ(end(a), cudaErrorStreamCaptureInvalidated);

  cudaStream_t blocking = nullptr;
  cudaStreamCreateWithFlags(&blocking, cudaStreamDefault);
  begin(blocking);
  EXPECT_EQ(start(set_all, 1, 32, nullptr, data, 64, 1.0f), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end(blocking), cudaErrorStreamCaptureInvalidated);
  begin(blocking);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end(blocking), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(found(), "");

  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_TRUE(finds("a stream that was made, and not stream 0, is captured"));
  EXPECT_EQ(cudaStreamEndCapture(a, &graph), cudaErrorIllegalState);
  EXPECT_TRUE(finds("the stream is captured"));
  begin(a);
  EXPECT_EQ(cudaStreamEndCapture(a, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 64), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the flags are known"));
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  begin(a);
  EXPECT_EQ(cudaGraphLaunch(exec, a), cudaErrorStreamCaptureUnsupported);
  EXPECT_TRUE(finds("the stream must be one that was made and isn't captured"));
}

}  // namespace aorta::emulated
