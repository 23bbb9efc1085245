// Memory that work may still touch isn't given out: after a copy between devices that failed half
// way, and while a graph is captured.
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/tensor.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/memory_driver.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <string>
#include <thread>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

constexpr int64_t kCount = 1 << 20;  // 4 MiB: memory of its own, not a piece of a slab

class CudaRest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override {
    emulated::Streams::get().set_mode(emulated::Mode::lazy);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal) << "left by another test";
  }
  void TearDown() override {
    emulated::inject_nothing();
    for (const char* device : {"cuda:0", "cuda:1"}) synchronize(device);
    device().empty_cache();
  }
  static DeviceBackend& device() { return backend(DeviceType::cuda); }
  static Tensor there(int index) {
    return empty({kCount}, {.device = Device(DeviceType::cuda, index)});
  }
};

/// A capture on a stream of its own, which is current while it lives, and has memory of its own for
/// small tensors.
class CapturedStream {
 public:
  CapturedStream() : stream_(gpu().create_stream(0)) {
    gpu().set_current_stream(stream_);
    empty({1000}, {.device = "cuda"});
    EXPECT_EQ(cudaStreamBeginCapture(handle(), cudaStreamCaptureModeGlobal), cudaSuccess);
  }
  ~CapturedStream() {
    gpu().set_current_stream({Device("cuda:0"), nullptr});
    gpu().destroy_stream(stream_);
  }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  Stream stream() const { return stream_; }
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(handle(), &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    return error;
  }

 private:
  static DeviceBackend& gpu() { return backend(DeviceType::cuda); }
  cudaStream_t handle() const { return static_cast<cudaStream_t>(stream_.handle); }
  Stream stream_;
};

}  // namespace

// The copy is queued on the source's stream, and then the destination's can't be made to wait for
// it: the destination, freed by the error, is neither given out nor given back before the copy is
// done.
TEST_F(CudaRest, ACopyBetweenDevicesFailsHalfWay) {
  struct {
    const char* call;
    int nth;
    bool queued;
  } const kFaults[] = {{"cudaEventRecord", 1, false},     {"cudaStreamWaitEvent", 1, false},
                       {"cudaMemcpyPeerAsync", 1, false}, {"cudaEventRecord", 2, true},
                       {"cudaStreamWaitEvent", 2, true},  {"cudaEventRecord", 1, false}};
  for (const auto& fault : kFaults) {
    SCOPED_TRACE(std::string(fault.call) + " " + std::to_string(fault.nth));
    const Tensor source = full({kCount}, 1.0, {.device = "cuda:0"});
    source.cuda(1);  // what it needs is there from now on
    for (const char* name : {"cuda:0", "cuda:1"}) synchronize(name);
    const void* const place = there(1).data();
    emulated::inject(fault.call, fault.nth, cudaErrorInvalidResourceHandle);
    EXPECT_EQ(error_of([&] { source.cuda(1); }),
              "cuda: CUDA must succeed, got cudaErrorInvalidResourceHandle (invalid resource "
              "handle)");
    emulated::inject_nothing();
    device().empty_cache();
    {
      const Tensor next = there(1);
      if (fault.queued) {
        EXPECT_NE(next.data(), place) << "the copy may still write there";
      }
      next.fill_(5.0);
      EXPECT_EQ(next.cpu().at<float>({kCount - 1}), 5.0f);
      synchronize("cuda:0");  // now it has
      EXPECT_EQ(next.cpu().at<float>({kCount - 1}), 5.0f);
    }
    there(1);
    device().empty_cache();
    EXPECT_EQ(device().memory_stats(1).bytes_cached, 0) << "and then it is given back";
    EXPECT_EQ(source.cuda(1).cpu().at<float>({0}), 1.0f);
  }
}

// An event belongs to the pool: what fails half way makes none that nobody has.
TEST_F(CudaRest, EventsOfFailedCopiesGoBack) {
  const Tensor source = full({64}, 1.0, {.device = "cuda:0"});
  source.cuda(1);
  emulated::inject("cudaEventCreateWithFlags", -1, cudaErrorMemoryAllocation);
  for (const char* call : {"cudaStreamWaitEvent", "cudaMemcpyPeerAsync", "cudaEventRecord"}) {
    for (int i = 0; i < 20; ++i) {
      emulated::inject(call, 1 + i % 2, cudaErrorInvalidResourceHandle);
      error_of([&] { source.cuda(1); });
      emulated::inject_nothing();
      synchronize("cuda:0");
    }
  }
  const int made = emulated::calls_of("cudaEventCreateWithFlags");
  EXPECT_EQ(source.cuda(1).cpu().at<float>({63}), 1.0f);
  EXPECT_EQ(emulated::calls_of("cudaEventCreateWithFlags"), made) << "two are in the pool";
}

// Whether memory that rests is free may be asked while a graph is captured, by whichever thread.
TEST_F(CudaRest, ACaptureGoesOnWhileMemoryRests) {
  const Stream side = device().create_stream(0);
  Tensor copy;
  const Tensor small = full({1000}, 1.0, {.device = "cuda"});
  {
    const Tensor x = full({kCount}, 1.0, {.device = "cuda"});
    synchronize("cuda:0");
    device().record_stream(x.data(), side);
    device().set_current_stream(side);
    copy = x.clone();
    device().set_current_stream({Device("cuda:0"), nullptr});
  }
  {
    CapturedStream captured;
    EXPECT_EQ(error_of([&] { small.clone(); }), kNoError);
    EXPECT_EQ(captured.end(), cudaSuccess);
  }
  device().synchronize_stream(side);
  EXPECT_EQ(copy.cpu().at<float>({0}), 1.0f);
  device().destroy_stream(side);
}

// A stream or an event that isn't captured may be waited for and asked while another is: by the
// thread that captures and by others, which copy, look at what the data decide and stage batches.
TEST_F(CudaRest, ACaptureGoesOnWhileOthersWait) {
  const Tensor x = full({1000}, 1.0, {.device = "cuda"});
  const Tensor rows = tensor({2, 0}, {.dtype = i64, .device = "cuda"});
  index_select(x, 0, rows);  // its memory is cached from now on
  const Stream standard = device().current_stream(0);
  const Event event = device().create_event(0);
  device().record_event(event, standard);
  const auto wait = [&](Stream stream) {
    device().set_current_stream(stream);
    EXPECT_EQ(x.cpu().at<float>({999}), 1.0f);
    EXPECT_EQ(index_select(x, 0, rows).cpu().at<float>({0}), 1.0f);
    EXPECT_TRUE(device().event_done(event));
    device().synchronize_stream(stream);
  };
  for (const bool another : {false, true}) {
    SCOPED_TRACE(another);
    CapturedStream captured;
    std::string text;
    const auto work = [&] { text = error_of([&] { wait(standard); }); };
    another ? std::thread(work).join() : work();
    EXPECT_EQ(text, kNoError);
    EXPECT_EQ(captured.end(), cudaSuccess);
  }
  device().destroy_event(event);
}

TEST_F(CudaRest, ACaptureGoesOnWhileMemoryIsWaitedFor) {
  const cuda::MemoryDriver driver = cuda::device_memory_driver(0);
  const cudaStream_t stream = cuda::current_stream(0);
  void* const event = driver.record_event(driver.context, {0, stream});
  ASSERT_NE(event, nullptr);
  CapturedStream captured;
  EXPECT_TRUE(driver.wait_event(driver.context, event));
  EXPECT_EQ(captured.end(), cudaSuccess);
  driver.destroy_event(driver.context, event);
}

// What is captured has no numbers yet: it isn't copied to the host.
TEST_F(CudaRest, WhatIsCapturedIsNotWaitedFor) {
  const Tensor x = full({1000}, 1.0, {.device = "cuda"});
  CapturedStream captured;
  EXPECT_EQ(
      error_of([&] { x.cpu(); }),
      "cpu: CUDA must succeed, got cudaErrorStreamCaptureUnsupported (operation not permitted "
      "when stream is capturing)");
  EXPECT_EQ(captured.end(), cudaErrorStreamCaptureInvalidated);
}

// An error that the program's own calls of CUDA have left is the program's: work that isn't done
// yet is an answer, and leaves none that would have to go.
TEST_F(CudaRest, WhatIsNotDoneTakesNobodysError) {
  const Stream side = device().create_stream(0);
  const Event event = device().create_event(0);
  const Tensor small = full({1000}, 1.0, {.device = "cuda"});
  Tensor copy;
  {
    const Tensor x = full({kCount}, 1.0, {.device = "cuda"});
    synchronize("cuda:0");
    device().record_stream(x.data(), side);
    device().set_current_stream(side);
    copy = x.clone() + 1.0;
    device().set_current_stream({Device("cuda:0"), nullptr});
  }
  device().record_event(event, side);
  emulated::inject("cudaSetDevice", 1, cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorInvalidDevice);
  EXPECT_FALSE(device().event_done(event));
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  there(0);  // asks for the memory that rests
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  synchronize("cuda:0");
  device().destroy_event(event);
  device().destroy_stream(side);
}

// What a captured stream reads is freed while it is captured: it rests until the capture is over,
// well or badly, and then it is free as any other.
TEST_F(CudaRest, MemoryOfACaptureRestsUntilItIsOver) {
  for (const bool aborted : {false, true}) {
    SCOPED_TRACE(aborted);
    device().empty_cache();
    const Stream standard = device().current_stream(0);
    Tensor x = full({kCount}, 1.0, {.device = "cuda"});
    void* const place = x.data();
    synchronize("cuda:0");
    {
      CapturedStream captured;
      device().record_stream(place, captured.stream());
      x = Tensor();
      device().set_current_stream(standard);
      cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
      EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&relaxed), cudaSuccess);
      EXPECT_NE(there(0).data(), place) << "it is captured";
      EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&relaxed), cudaSuccess);
      if (aborted) {
        EXPECT_NE(error_of([&] { empty({3 * kCount}, {.device = "cuda"}); }), kNoError);
      }
      EXPECT_EQ(captured.end(), aborted ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    }
    synchronize("cuda:0");
    EXPECT_EQ(there(0).data(), place) << "it rests no more";
  }
}

// The stream of a capture is used again, so the capture ends whatever fails there.
TEST_F(CudaRest, ACaptureEndsWhereTheDeviceCannotBeAsked) {
  for (const bool fails : {true, false}) {
    const Stream stream = device().create_stream(0);
    ASSERT_TRUE(device().begin_capture(stream));
    if (fails) emulated::inject("cudaGetDevice", 1, cudaErrorLaunchFailure);
    Graph graph{.device = stream.device};
    const std::string text = error_of([&] { graph = device().end_capture(stream); });
    emulated::inject_nothing();
    EXPECT_EQ(text.starts_with("capture: CUDA must succeed, got "), fails) << text;
    device().destroy_graph(graph, stream);
    device().destroy_stream(stream);
    EXPECT_EQ(error_of([] { synchronize("cuda:0"); }), kNoError);
  }
}

}  // namespace aorta
