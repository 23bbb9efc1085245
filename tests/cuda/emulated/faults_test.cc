// What cuda/ does when calls of the runtime fail, and when memory is freed while work on it is
// queued. The plugin and the double are linked into this program, so that it can say which call
// fails.
#include <aorta/core/check.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/tensor.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

class CudaFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(emulated::Mode::lazy); }
  void TearDown() override {
    emulated::inject_nothing();
    synchronize("cuda:0");
    device().empty_cache();
  }
  static DeviceBackend& device() { return backend(DeviceType::cuda); }
};

/// A tensor that a side stream still reads when it is freed; its address.
void* freed_while_read(Stream side, Tensor& copy) {
  DeviceBackend& gpu = backend(DeviceType::cuda);
  const Tensor x = full({1 << 20}, 1.0, {.device = "cuda"});
  synchronize("cuda:0");
  gpu.record_stream(x.data(), side);
  gpu.set_current_stream(side);
  copy = x.clone();
  gpu.set_current_stream({Device("cuda:0"), nullptr});
  return x.data();
}

}  // namespace

// Only an event that is done says that memory may be used again: an error says nothing.
TEST_F(CudaFaults, MemoryRestsWhileItsEventCannotBeAsked) {
  const Stream side = device().create_stream(0);
  Tensor copy;
  void* const data = freed_while_read(side, copy);
  emulated::inject("cudaEventQuery", 0, cudaErrorStreamCaptureUnsupported);
  const Tensor next = empty({1 << 20}, {.device = "cuda"});
  EXPECT_NE(next.data(), data);
  emulated::inject_nothing();
  device().synchronize_stream(side);
  EXPECT_EQ(copy.cpu().at<float>({0}), 1.0f);
  EXPECT_EQ(empty({1 << 20}, {.device = "cuda"}).data(), data) << "once it can be asked";
  device().destroy_stream(side);
}

TEST_F(CudaFaults, MemoryRestsWhileNoEventCanBeRecorded) {
  for (const char* call : {"cudaEventRecord", "cudaEventCreateWithFlags", "cudaGetDevice"}) {
    SCOPED_TRACE(call);
    const Stream side = device().create_stream(0);
    Tensor copy;
    void* data = nullptr;
    {
      const Tensor x = full({1 << 20}, 1.0, {.device = "cuda"});
      data = x.data();
      synchronize("cuda:0");
      device().record_stream(data, side);
      device().set_current_stream(side);
      copy = x.clone();
      device().set_current_stream({Device("cuda:0"), nullptr});
      emulated::inject(call, 0, cudaErrorStreamCaptureUnsupported);
    }
    emulated::inject_nothing();
    const Tensor next = empty({1 << 20}, {.device = "cuda"});
    EXPECT_NE(next.data(), data);
    next.fill_(5.0);
    synchronize("cuda:0");
    EXPECT_EQ(copy.cpu().at<float>({0}), 1.0f);
    device().destroy_stream(side);
  }
}

// With one device as with three: who the memory belongs to is asked, not guessed.
TEST_F(CudaFaults, HostMemoryIsCaughtByName) {
  std::vector<float> host(64);
  const Tensor x = from_blob(host.data(), {64}, {.device = "cuda"});
  try {
    x.fill_(1.0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "device: a kernel's memory must be one that a device can use, got the host's own");
  }
}

// The destination of a copy between devices is freed, and its memory given back, while the source's
// stream still writes to it.
TEST_F(CudaFaults, PeersAreWaitedForBeforeMemoryIsGivenBack) {
  const Tensor there = ones({1 << 20}, {.device = "cuda:0"});
  synchronize("cuda:0");
  there.cuda(1);
  device().empty_cache();
  EXPECT_EQ(device().memory_stats(1).bytes_cached, 0);
  EXPECT_NO_THROW(synchronize("cuda:0"));
  EXPECT_NO_THROW(synchronize("cuda:1"));
}

namespace {

/// A bit of everything that cuda/ has: allocation, copies both ways and between devices, pinned
/// memory, kernels, a product with a bias, indices that are checked on the device, streams and
/// events.
std::vector<float> step() {
  DeviceBackend& gpu = backend(DeviceType::cuda);
  const Tensor pinned = arange(12, {.dtype = f32}).view({3, 4}).pin_memory();
  const Tensor x = pinned.to(Device("cuda:0"), true);
  const Tensor weight = full({5, 4}, 0.5, {.device = "cuda:0"});
  const Tensor bias = ones({5}, {.device = "cuda:0"});
  Tensor y = linear(x, weight, bias);
  const Stream side = gpu.create_stream(0);
  const Event ready = gpu.create_event(0);
  gpu.record_event(ready, gpu.current_stream(0));
  gpu.wait_event(ready, side);
  gpu.record_stream(y.data(), side);
  gpu.set_current_stream(side);
  const Tensor z = relu(y - 5.0);
  gpu.record_event(ready, side);
  gpu.set_current_stream({Device("cuda:0"), nullptr});
  gpu.wait_event(ready, gpu.current_stream(0));
  gpu.destroy_event(ready);
  gpu.destroy_stream(side);
  const Tensor rows = index_select(z, 0, tensor({2, 0}, {.dtype = i64, .device = "cuda:0"}));
  return (rows + sum(z)).cuda(1).cpu().to_vector<float>();
}

struct Fault {
  const char* call;
  cudaError_t error;
};
constexpr Fault kFaults[] = {
    {"cudaGetDevice", cudaErrorInitializationError},
    {"cudaSetDevice", cudaErrorInvalidDevice},
    {"cudaMalloc", cudaErrorMemoryAllocation},
    {"cudaMalloc", cudaErrorStreamCaptureUnsupported},
    {"cudaHostAlloc", cudaErrorMemoryAllocation},
    {"cudaMemGetInfo", cudaErrorInvalidValue},
    {"cudaPointerGetAttributes", cudaErrorInvalidValue},
    {"cudaMemcpyAsync", cudaErrorInvalidValue},
    {"cudaMemcpyPeerAsync", cudaErrorInvalidValue},
    {"cudaMemsetAsync", cudaErrorInvalidValue},
    {"cudaStreamCreateWithFlags", cudaErrorMemoryAllocation},
    {"cudaStreamSynchronize", cudaErrorStreamCaptureUnsupported},
    {"cudaStreamWaitEvent", cudaErrorInvalidResourceHandle},
    {"cudaEventCreateWithFlags", cudaErrorMemoryAllocation},
    {"cudaEventRecord", cudaErrorInvalidResourceHandle},
    {"cudaEventQuery", cudaErrorCapturedEvent},
    {"cudaEventSynchronize", cudaErrorCapturedEvent},
    {"cudaDeviceSynchronize", cudaErrorStreamCaptureUnsupported},
    {"cudaLaunchKernelEx", cudaErrorInvalidConfiguration},
    {"cublasLtMatmul", cudaErrorLaunchFailure},
};

}  // namespace

// Each call fails in turn, at its first, second and a later time: the step gives one line that says
// what failed, or the right result; nothing of it stays in use, and the next step is right.
TEST_F(CudaFaults, EachCallFailsInTurn) {
  const std::vector<float> wanted = step();
  synchronize("cuda:0");
  synchronize("cuda:1");
  const int64_t in_use = device().memory_stats(0).bytes_in_use;
  int thrown = 0;
  for (const Fault& fault : kFaults) {
    for (const int nth : {1, 2, 5}) {
      SCOPED_TRACE(std::string(fault.call) + " " + std::to_string(nth));
      device().empty_cache();  // so that memory is asked for again
      emulated::inject(fault.call, nth, fault.error);
      try {
        EXPECT_EQ(step(), wanted);
      } catch (const Error& error) {
        ++thrown;
        const std::string text = error.what();
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_NE(text.find(": "), std::string::npos) << text;
      }
      emulated::inject_nothing();
      device().set_current_stream({Device("cuda:0"), nullptr});
      EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "left for the next launch";
      cudaGetLastError();
      // A scope that ends can't say that the device before couldn't be made current again.
      const bool restored = device().current_device() == 0;
      EXPECT_TRUE(restored || std::string(fault.call) == "cudaSetDevice");
      device().set_current_device(0);
      EXPECT_EQ(device().memory_stats(0).bytes_in_use, in_use);
      EXPECT_EQ(step(), wanted);
    }
  }
  EXPECT_GT(thrown, 20);
}

}  // namespace aorta
