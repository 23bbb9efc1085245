// Rules of the CUDA runtime while a stream is captured, and of graphs.
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace aorta::rules {
namespace {

alignas(4096) char pageable[kBytes];
alignas(4096) char registered[kBytes];

/// What the calls of `kCalls` are about, made before a capture begins.
struct Things {
  void *device = nullptr, *pinned = nullptr;
  cudaEvent_t event = nullptr;
  cudaStream_t other = nullptr;
};

struct Call {
  const char* name;
  cudaError_t (*make)(Things& things);
};

void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }

// Calls that may wait for other work, which a capture forbids.
const Call kUnsafe[] = {
    {"cudaMalloc",
     [](Things&) {
       void* data = nullptr;
       return cudaMalloc(&data, kBytes);
     }},
    {"cudaFree", [](Things& t) { return cudaFree(t.device); }},
    {"cudaHostAlloc",
     [](Things&) {
       void* data = nullptr;
       return cudaHostAlloc(&data, kBytes, cudaHostAllocDefault);
     }},
    {"cudaFreeHost", [](Things& t) { return cudaFreeHost(t.pinned); }},
    {"cudaHostRegister",
     [](Things&) { return cudaHostRegister(pageable, kBytes, cudaHostRegisterDefault); }},
    {"cudaHostUnregister", [](Things&) { return cudaHostUnregister(registered); }},
    {"cudaEventQuery", [](Things& t) { return cudaEventQuery(t.event); }},
    {"cudaEventSynchronize", [](Things& t) { return cudaEventSynchronize(t.event); }},
    {"cudaStreamQuery", [](Things& t) { return cudaStreamQuery(t.other); }},
    {"cudaStreamSynchronize", [](Things& t) { return cudaStreamSynchronize(t.other); }},
};

// Calls that a capture forbids in no mode, so that cuda/ makes them without asking.
const Call kSafe[] = {
    {"cudaMemGetInfo",
     [](Things&) {
       size_t free = 0, total = 0;
       return cudaMemGetInfo(&free, &total);
     }},
    {"cudaPointerGetAttributes",
     [](Things& t) {
       cudaPointerAttributes attributes{};
       return cudaPointerGetAttributes(&attributes, t.device);
     }},
    {"cudaStreamCreateWithFlags",
     [](Things&) {
       cudaStream_t stream = nullptr;
       return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
     }},
    {"cudaEventCreateWithFlags",
     [](Things&) {
       cudaEvent_t event = nullptr;
       return cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
     }},
    {"cudaEventRecord", [](Things& t) { return cudaEventRecord(t.event, t.other); }},
    {"cudaMemsetAsync", [](Things& t) { return cudaMemsetAsync(t.device, 0, kBytes, t.other); }},
};

std::string name_of(const testing::TestParamInfo<Call>& info) { return info.param.name; }

class Captures : public Rules {
 protected:
  static void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
  }
  static cudaStreamCaptureStatus status_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
    return status;
  }
  /// One piece of work.
  cudaError_t queue(cudaStream_t stream) {
    if (!data_) data_ = device_memory(kBytes);
    return cudaMemsetAsync(data_, 0, kBytes, stream);
  }
  void prepare() { queue(nullptr); }
  /// `stream` goes on after what `before` has queued.
  void order(cudaStream_t before, cudaStream_t stream) {
    const cudaEvent_t event = new_event();
    EXPECT_EQ(cudaEventRecord(event, before), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  }
  cudaGraph_t graph_of_one(cudaStream_t stream) {
    prepare();
    begin(stream);
    EXPECT_EQ(queue(stream), cudaSuccess);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    return graph;
  }

 private:
  void* data_ = nullptr;
};

class CallsOfACapture : public Captures, public testing::WithParamInterface<Call> {
 protected:
  void SetUp() override {
    Captures::SetUp();
    if (IsSkipped()) return;
    stream_ = new_stream();
    things_.other = new_stream();
    things_.event = new_event();
    ASSERT_EQ(cudaMalloc(&things_.device, kBytes), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(&things_.pinned, kBytes, cudaHostAllocDefault), cudaSuccess);
    ASSERT_EQ(cudaHostRegister(registered, kBytes, cudaHostRegisterDefault), cudaSuccess);
  }
  void TearDown() override {
    Captures::TearDown();
    // The call may have left some of these.
    cudaFree(things_.device);
    cudaFreeHost(things_.pinned);
    cudaHostUnregister(registered);
    cudaHostUnregister(pageable);
    cudaGetLastError();
  }
  cudaError_t call() { return GetParam().make(things_); }
  cudaError_t call_in_a_thread(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    cudaError_t error = cudaSuccess;
    std::thread([&] {
      cudaThreadExchangeStreamCaptureMode(&mode);
      error = call();
    }).join();
    return error;
  }
  void refused(cudaError_t error) {
    EXPECT_EQ(error, cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(status_of(stream_), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(end_capture(stream_), cudaErrorStreamCaptureInvalidated);
  }
  void allowed(cudaError_t error) {
    EXPECT_EQ(error, cudaSuccess);
    EXPECT_EQ(status_of(stream_), cudaStreamCaptureStatusActive);
    EXPECT_EQ(end_capture(stream_), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr;

 private:
  Things things_;
};

using UnsafeCalls = CallsOfACapture;
using SafeCalls = CallsOfACapture;

}  // namespace

// ---- Calls that may wait for other work.

TEST_P(UnsafeCalls, AreRefusedByAGlobalCapture) {
  begin(stream_);
  refused(call());
}

TEST_P(UnsafeCalls, AreRefusedByAGlobalCaptureOfAnotherThread) {
  begin(stream_);
  refused(call_in_a_thread());
}

TEST_P(UnsafeCalls, AreRefusedByACaptureOfTheThread) {
  begin(stream_, cudaStreamCaptureModeThreadLocal);
  refused(call());
}

TEST_P(UnsafeCalls, AreAllowedBesideACaptureOfAnotherThread) {
  begin(stream_, cudaStreamCaptureModeThreadLocal);
  allowed(call_in_a_thread());
}

TEST_P(UnsafeCalls, AreAllowedToAThreadThatSaysSo) {
  begin(stream_);
  allowed(call_in_a_thread(cudaStreamCaptureModeThreadLocal));
}

TEST_P(UnsafeCalls, AreAllowedByARelaxedCapture) {
  begin(stream_, cudaStreamCaptureModeRelaxed);
  allowed(call());
}

TEST_P(UnsafeCalls, AreAllowedToARelaxedThread) {
  begin(stream_);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  const cudaError_t error = call();
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  allowed(error);
}

TEST_P(SafeCalls, AreAllowedByAGlobalCapture) {
  begin(stream_);
  allowed(call());
}

INSTANTIATE_TEST_SUITE_P(Rules, UnsafeCalls, testing::ValuesIn(kUnsafe), name_of);
INSTANTIATE_TEST_SUITE_P(Rules, SafeCalls, testing::ValuesIn(kSafe), name_of);

// ---- The beginning and the end of a capture.

TEST_F(Captures, BeginOnStreamZero) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
}

TEST_F(Captures, BegunTwice) {
  const cudaStream_t stream = new_stream();
  begin(stream);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
}

TEST_F(Captures, ASecondBeginEndsNothing) {
  const cudaStream_t stream = new_stream();
  begin(stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
}

TEST_F(Captures, EndOfNone) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(new_stream(), &graph), cudaErrorIllegalState);
}

TEST_F(Captures, EndOnStreamZero) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(nullptr, &graph), cudaErrorIllegalState);
}

TEST_F(Captures, EndOnAStreamThatJoined) {
  const cudaStream_t stream = new_stream(), joined = new_stream();
  begin(stream);
  order(stream, joined);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(joined, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusInvalidated);
}

TEST_F(Captures, EndInAnotherThread) {
  const cudaStream_t stream = new_stream();
  begin(stream);
  cudaError_t error = cudaSuccess;
  std::thread([&] { error = end_capture(stream); }).join();
  EXPECT_EQ(error, cudaErrorStreamCaptureWrongThread);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
}

TEST_F(Captures, ARelaxedOneEndsInAnotherThread) {
  const cudaStream_t stream = new_stream();
  begin(stream, cudaStreamCaptureModeRelaxed);
  cudaError_t error = cudaErrorInvalidValue;
  std::thread([&] { error = end_capture(stream); }).join();
  EXPECT_EQ(error, cudaSuccess);
}

TEST_F(Captures, EndAfterAnErrorGivesNoGraph) {
  const cudaStream_t stream = new_stream();
  begin(stream);
  cudaStreamQuery(stream);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
}

TEST_F(Captures, WorkAfterAnError) {
  prepare();
  const cudaStream_t stream = new_stream();
  begin(stream);
  cudaStreamQuery(stream);
  EXPECT_EQ(queue(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, AreAsked) {
  const cudaStream_t stream = new_stream(), joined = new_stream();
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  EXPECT_EQ(status_of(nullptr), cudaStreamCaptureStatusNone);
  begin(stream);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusActive);
  EXPECT_EQ(status_of(joined), cudaStreamCaptureStatusNone);
  order(stream, joined);
  EXPECT_EQ(status_of(joined), cudaStreamCaptureStatusActive);
}

TEST_F(Captures, UnknownModeOfAThread) {
  auto mode = static_cast<cudaStreamCaptureMode>(7);
  const cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
  if (error == cudaSuccess) cudaThreadExchangeStreamCaptureMode(&mode);
  stricter(error, cudaErrorInvalidValue);
}

// ---- What is refused in any mode.

TEST_F(Captures, TheDeviceIsWaitedFor) {
  const cudaStream_t stream = new_stream();
  begin(stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, TheStreamIsWaitedFor) {
  const cudaStream_t stream = new_stream();
  begin(stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, TheStreamIsAsked) {
  const cudaStream_t stream = new_stream();
  begin(stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, AnEventOfItIsAsked) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  begin(stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, AnEventOfItIsWaitedFor) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  begin(stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, AnEventOfOneThatIsOverIsAsked) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  begin(stream);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidValue);
}

TEST_F(Captures, AStreamWaitsForAnEventOfOneThatIsOver) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  begin(stream);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), event, 0), cudaErrorInvalidValue);
}

TEST_F(Captures, AnEventThatIsRecordedAgainIsAsked) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  begin(stream);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
}

TEST_F(Captures, ItWaitsForWorkFromBefore) {
  const cudaStream_t stream = new_stream(), outside = new_stream();
  const cudaEvent_t event = new_event();
  EXPECT_EQ(cudaEventRecord(event, outside), cudaSuccess);
  begin(stream);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, ItWaitsForAnEventThatWasNeverRecorded) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  begin(stream);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
}

TEST_F(Captures, OneWaitsForAnother) {
  const cudaStream_t a = new_stream(), b = new_stream();
  const cudaEvent_t event = new_event();
  begin(a);
  begin(b);
  EXPECT_EQ(cudaEventRecord(event, a), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b, event, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(end_capture(a), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end_capture(b), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, AStreamThatJoinedDoesNotComeBack) {
  prepare();
  const cudaStream_t stream = new_stream(), branch = new_stream();
  begin(stream);
  order(stream, branch);
  EXPECT_EQ(queue(branch), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Captures, AStreamThatJoinedComesBack) {
  prepare();
  const cudaStream_t stream = new_stream(), branch = new_stream();
  begin(stream);
  EXPECT_EQ(queue(stream), cudaSuccess);
  order(stream, branch);
  EXPECT_EQ(queue(branch), cudaSuccess);
  order(branch, stream);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
  EXPECT_EQ(status_of(branch), cudaStreamCaptureStatusNone);
}

TEST_F(Captures, WorkOnStreamZeroBesideABlockingStream) {
  prepare();
  const cudaStream_t stream = new_stream(cudaStreamDefault);
  begin(stream);
  EXPECT_EQ(queue(nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, StreamZeroIsWaitedForBesideABlockingStream) {
  const cudaStream_t stream = new_stream(cudaStreamDefault);
  begin(stream);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, AnEventIsRecordedOnStreamZeroBesideABlockingStream) {
  const cudaStream_t stream = new_stream(cudaStreamDefault);
  const cudaEvent_t event = new_event();
  begin(stream);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end_capture(stream), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, WorkOnStreamZeroBesideAStreamThatDoesNotBlock) {
  prepare();
  const cudaStream_t stream = new_stream();
  begin(stream);
  EXPECT_EQ(queue(nullptr), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
}

TEST_F(Captures, ACopyFromPageableMemory) {
  const cudaStream_t stream = new_stream();
  void* const data = device_memory(kBytes);
  begin(stream);
  EXPECT_EQ(cudaMemcpyAsync(data, pageable, kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
}

TEST_F(Captures, ACopyFromPinnedMemory) {
  const cudaStream_t stream = new_stream();
  void *const data = device_memory(kBytes), *const pinned = pinned_memory(kBytes);
  begin(stream);
  EXPECT_EQ(cudaMemcpyAsync(data, pinned, kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
  EXPECT_EQ(end_capture(stream), cudaSuccess);
}

// ---- Graphs.

TEST_F(Captures, AGraphIsLaunchedTwice) {
  const cudaStream_t stream = new_stream();
  const cudaGraph_t graph = graph_of_one(stream);
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess) << "launches of it are queued";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Captures, InstantiateWithUnknownFlags) {
  const cudaGraph_t graph = graph_of_one(new_stream());
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 1 << 20), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Captures, InstantiateOfNoGraph) {
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(Captures, LaunchOfNoGraph) {
  EXPECT_EQ(cudaGraphLaunch(nullptr, new_stream()), cudaErrorInvalidValue);
}

TEST_F(Captures, DestroyOfNoGraph) {
  EXPECT_EQ(cudaGraphDestroy(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecDestroy(nullptr), cudaErrorInvalidValue);
}

TEST_F(Captures, AGraphIsLaunchedInIt) {
  const cudaStream_t stream = new_stream();
  const cudaGraph_t graph = graph_of_one(stream);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  begin(stream);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaErrorStreamCaptureUnsupported);
  end_capture(stream);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace aorta::rules
