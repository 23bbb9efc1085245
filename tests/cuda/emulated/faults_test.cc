// What cuda/ does when calls of the runtime fail, and when memory is freed while work on it is
// queued. The plugin and the double are linked into this program, so that it can say which call
// fails.
#include <aorta/core/backends.h>
#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/tensor.h>
#include <aorta/optim/adam.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
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
    emulated::settings().device_bytes = emulated::Settings().device_bytes;
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

// Memory that another stream reads is given out again, unless it was said that it reads it.
TEST_F(CudaFaults, AMissingRecordStreamShows) {
  const Stream standard = device().current_stream(0);
  const auto copied = [&](bool recorded) {
    const Stream side = device().create_stream(0);
    Tensor copy;
    {
      const Tensor x = full({4096}, 1.0, {.device = "cuda"});
      device().synchronize_stream(standard);
      if (recorded) device().record_stream(x.data(), side);
      device().set_current_stream(side);
      copy = x.clone();
      device().set_current_stream({Device("cuda:0"), nullptr});
    }
    full({4096}, 5.0, {.device = "cuda"});
    device().synchronize_stream(standard);
    device().synchronize_stream(side);
    const float result = copy.cpu().at<float>({0});
    device().destroy_stream(side);
    return result;
  };
  for (const emulated::Mode mode :
       {emulated::Mode::lazy, emulated::Mode::random, emulated::Mode::threads}) {
    SCOPED_TRACE(static_cast<int>(mode));
    emulated::Streams::get().set_mode(mode);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(copied(true), 1.0f);
    bool shown = false;
    for (int i = 0; i < 1000 && !shown; ++i) shown = copied(false) == 5.0f;
    EXPECT_TRUE(shown);
  }
}

TEST_F(CudaFaults, AProfilerWaitsWhenItIsRead) {
  const Tensor x = full({100}, 0.5, {.device = "cuda"});
  synchronize("cuda:0");
  emulated::take_calls();
  exp(x);
  EXPECT_EQ(emulated::take_calls()["cudaEventRecord"], 0);
  Profiler profiler;
  exp(x);
  profiler.stop();
  std::map<std::string, int> calls = emulated::take_calls();
  EXPECT_EQ(calls["cudaEventRecord"], 3);
  for (const char* wait : {"cudaStreamSynchronize", "cudaEventSynchronize", "cudaEventQuery",
                           "cudaDeviceSynchronize", "cudaEventElapsedTime"})
    EXPECT_EQ(calls[wait], 0) << wait;
  EXPECT_EQ(profiler.device_ranges().size(), 1u);
  EXPECT_EQ(profiler.device_ranges().size(), 1u);
  calls = emulated::take_calls();
  EXPECT_EQ(calls["cudaStreamSynchronize"], 1);
  EXPECT_EQ(calls["cudaEventElapsedTime"], 2);
}

TEST_F(CudaFaults, AProfilerThatCannotMeasure) {
  const Tensor x = full({100}, 0.5, {.device = "cuda"});
  const std::string failure = "CUDA must succeed, got cudaErrorLaunchFailure";
  {
    Profiler profiler;
    exp(x);
    profiler.stop();
    emulated::inject("cudaEventElapsedTime", 1, cudaErrorLaunchFailure);
    EXPECT_TRUE(error_of([&] { profiler.device_ranges(); }).starts_with("profiler: " + failure));
    emulated::inject_nothing();
    EXPECT_EQ(profiler.device_ranges().size(), 1u);
  }
  for (const int nth : {1, 2}) {  // of the device, and of the work's beginning
    Profiler profiler;
    emulated::inject("cudaEventRecord", nth, cudaErrorLaunchFailure);
    EXPECT_TRUE(error_of([&] { exp(x); }).starts_with("exp: " + failure));
    emulated::inject_nothing();
    exp(x);
    profiler.stop();
    EXPECT_EQ(profiler.device_ranges().size(), 1u);
  }
  Profiler profiler;
  emulated::inject("cudaEventRecord", 3, cudaErrorLaunchFailure);
  exp(x);
  emulated::inject_nothing();
  profiler.stop();
  EXPECT_TRUE(error_of([&] {
                profiler.device_ranges();
              }).starts_with("profiler: the end of all work must be noted, got exp: " + failure));
}

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
                 "fill_: a kernel's memory must be one that a device can use, got the host's own "
                 "or freed memory");
  }
}

TEST_F(CudaFaults, FreedMemoryIsCaughtByName) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 256), cudaSuccess);
  const Tensor x = from_blob(data, {64}, {.device = "cuda"});
  ASSERT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(error_of([&] { x.fill_(1.0); }),
            "fill_: a kernel's memory must be one that a device can use, got the host's own or "
            "freed memory");
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

// A capture of a program's own, beside Aorta's (core/dispatch/capture.h): of kernels whose memory
// is in the cache. Other memory is refused by one line, and the capture is over.
TEST_F(CudaFaults, WorkIsCapturedWhereItsMemoryIsCached) {
  const Stream stream = device().create_stream(0);
  device().set_current_stream(stream);
  const cudaStream_t handle = static_cast<cudaStream_t>(stream.handle);
  const Tensor x = full({1000}, 1.0, {.device = "cuda"});
  x + 1.0;  // its memory is cached from now on
  Tensor y;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(handle, cudaStreamCaptureModeGlobal), cudaSuccess);
  y = x + 1.0;
  ASSERT_EQ(cudaStreamEndCapture(handle, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  for (const double value : {5.0, 7.0}) {
    x.fill_(value);
    EXPECT_EQ(cudaGraphLaunch(exec, handle), cudaSuccess);
    EXPECT_EQ(y.cpu().at<float>({999}), value + 1);
  }
  // A seed or a step count would be the capture's at each replay.
  const Tensor parameter = x.clone().requires_grad_(), noise = empty_like(x);
  parameter.set_grad(x);
  optim::Adam adam({parameter});
  adam.step();
  ASSERT_EQ(cudaStreamBeginCapture(handle, cudaStreamCaptureModeGlobal), cudaSuccess);
  const std::string rule =
      ": a graph must not hold numbers that change from call to call, got a "
      "stream that is captured";
  EXPECT_EQ(error_of([&] { adam.step(); }), "update" + rule);
  EXPECT_EQ(error_of([&] { normal_(noise, 0, 1); }), "normal_" + rule);
  ASSERT_EQ(cudaStreamEndCapture(handle, &graph), cudaSuccess);
  adam.step();
  ASSERT_EQ(cudaStreamBeginCapture(handle, cudaStreamCaptureModeGlobal), cudaSuccess);
  try {
    empty({1 << 22}, {.device = "cuda"});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "allocate: CUDA must succeed, got cudaErrorStreamCaptureUnsupported (operation "
                 "not permitted "
                 "when stream is capturing)");
  }
  EXPECT_EQ(cudaStreamEndCapture(handle, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  EXPECT_EQ((x + 1.0).cpu().at<float>({0}), 8.0f);
  device().set_current_stream({Device("cuda:0"), nullptr});
  device().destroy_stream(stream);
}

namespace {

/// A bit of everything that cuda/ has: allocation, copies both ways and between devices, pinned
/// memory, kernels, a product with a bias, indices that are checked on the device, streams and
/// events, and memory that is given back.
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
  y = Tensor();
  gpu.synchronize_device(0);
  gpu.empty_cache();
  return (rows + sum(z)).cuda(1).cpu().to_vector<float>();
}

/// A product and a convolution that aren't known yet, and random numbers.
void new_shapes() {
  static int64_t width = 3;
  width = width < 40 ? width + 1 : 4;
  const Tensor image = ones({1, 2, 3, width}, {.device = "cuda:0"});
  conv2d(image, ones({2, 2, 3, 3}, {.device = "cuda:0"}), {}, 1, 1);
  matmul(image.view({6, width}).t(), ones({6, 3}, {.device = "cuda:0"}));
  normal_(image, 0, 1);
}

/// What a call fails with where the error matters: no memory is an answer of one of them.
cudaError_t error_for(const std::string& call) {
  if (call == "cudaMalloc" || call == "cudaHostAlloc") return cudaErrorMemoryAllocation;
  if (call == "cudaEventQuery") return cudaErrorCapturedEvent;
  return cudaErrorStreamCaptureUnsupported;
}

/// A layer that is trained by a captured step: random numbers, a checked index, an optimizer's
/// counts.
std::vector<float> captured_step() {
  manual_seed(3);
  const Tensor weight = full({5, 4}, 0.5, {.device = "cuda:0"}).requires_grad_();
  const Tensor x = ones({3, 4}, {.device = "cuda:0"});
  const Tensor classes = tensor({2, 0, 4}, {.dtype = i64, .device = "cuda:0"});
  optim::Adam adam({weight});
  auto train = capture([&](const Tensor& input, const Tensor& target) {
    adam.zero_grad();
    const Tensor loss = cross_entropy(linear(dropout(input, 0.5), weight), target);
    loss.backward();
    adam.step();
    return loss;
  });
  for (int i = 0; i < 5; ++i) train(x, classes);
  EXPECT_EQ(train.graphs(), 1);
  return weight.detach().cpu().to_vector<float>();
}

/// Each call that `work` makes fails in turn, at its first, second and a random time: the work
/// gives one line, or the right result; nothing of it stays in use, and the next time is right.
/// That the line begins with the op's name op_faults_test.cc holds for each op.
void fail_each_call(std::vector<float> (*work)()) {
  DeviceBackend& device = backend(DeviceType::cuda);
  for (const emulated::Mode mode : {emulated::Mode::lazy, emulated::Mode::threads}) {
    emulated::Streams::get().set_mode(mode);
    const auto clean = [&] {
      const CalledOp called("clean");  // that an error names it says that it can name its op
      device.empty_cache();            // so that memory is asked for again
      const std::vector<float> result = work();
      device.synchronize_device(0);
      device.synchronize_device(1);
      device.empty_cache();
      return result;
    };
    const std::vector<float> wanted = clean();
    const int64_t in_use = device.memory_stats(0).bytes_in_use;
    const size_t used[] = {emulated::Memory::get().used(0), emulated::Memory::get().used(1)};
    int thrown = 0;
    emulated::take_calls();
    clean();
    for (const auto& [call, calls] : emulated::take_calls()) {
      const int random = 1 + static_cast<int>(emulated::random_below(static_cast<uint64_t>(calls)));
      for (const int nth : std::set<int>{1, 2, random}) {
        SCOPED_TRACE(call + " " + std::to_string(nth));
        emulated::inject(call, nth, error_for(call));
        try {
          EXPECT_EQ(clean(), wanted);
        } catch (const Error& error) {
          ++thrown;
          const std::string text = error.what();
          EXPECT_EQ(text.find('\n'), std::string::npos) << text;
          EXPECT_TRUE(text.starts_with("clean: ") || text.starts_with("allocate: ")) << text;
        }
        emulated::inject_nothing();
        device.set_current_stream({Device("cuda:0"), nullptr});
        EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "left for the next launch";
        cudaGetLastError();
        // A scope that ends can't say that the device before couldn't be made current again.
        const bool restored = device.current_device() == 0;
        EXPECT_TRUE(restored || call == "cudaSetDevice");
        device.set_current_device(0);
        // Nor what this thread may do beside a capture.
        cudaStreamCaptureMode own = cudaStreamCaptureModeGlobal;
        EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&own), cudaSuccess);
        EXPECT_EQ(own, cudaStreamCaptureModeGlobal);
        EXPECT_EQ(device.memory_stats(0).bytes_in_use, in_use);
        EXPECT_EQ(clean(), wanted);
        EXPECT_EQ(emulated::Memory::get().used(0), used[0]) << "a call gives memory back again";
        EXPECT_EQ(emulated::Memory::get().used(1), used[1]);
      }
    }
    EXPECT_GT(thrown, 20);
  }
}

}  // namespace

TEST_F(CudaFaults, EachCallFailsInTurn) {
  fail_each_call([] {
    const std::vector<float> result = step();
    new_shapes();
    return result;
  });
}

TEST_F(CudaFaults, EachCallOfACapturedStepFailsInTurn) { fail_each_call(captured_step); }

// While a graph is captured no memory can be freed: what the calls before it have left is, before.
TEST_F(CudaFaults, AGraphHasRoomWhereItsStepHad) {
  const Tensor x = ones({1 << 20}, {.device = "cuda:0"});
  auto step = capture([](const Tensor& in) { return sum((in + 1.0) * (in + 2.0) * in); });
  const float wanted = step(x).item<float>();
  synchronize("cuda:0");
  emulated::settings().device_bytes = emulated::Memory::get().used(0) + (8 << 20);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(x).item<float>(), wanted);
  EXPECT_EQ(step.graphs(), 1);
}

TEST_F(CudaFaults, ALaunchThatFailsNamesItsOp) {
  emulated::inject("cudaLaunchKernelEx", -1, cudaErrorInvalidValue);
  step();
  const int launches = emulated::calls_of("cudaLaunchKernelEx");
  std::vector<std::string> names;
  for (int nth = 1; nth <= launches; ++nth) {
    emulated::inject("cudaLaunchKernelEx", nth, cudaErrorInvalidValue);
    try {
      step();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const std::string text = error.what();
      names.push_back(text.substr(0, text.find(": ")));
    }
    emulated::inject_nothing();
    device().set_current_stream({Device("cuda:0"), nullptr});
  }
  EXPECT_EQ(names, (std::vector<std::string>{"full", "ones", "sub", "relu", "index_select",
                                             "index_select", "sum", "add"}));
}

// Page-locking is asked for by name: the call that fails says so, and may be made again.
TEST_F(CudaFaults, RegistrationsFail) {
  std::vector<float> host(1024);
  const auto pin = [&] { device().register_host(host.data(), 4096); };
  const auto unpin = [&] { device().unregister_host(host.data()); };
  emulated::inject("cudaHostRegister", 1, cudaErrorMemoryAllocation);
  EXPECT_EQ(error_of(pin),
            "register_host: CUDA must succeed, got cudaErrorMemoryAllocation (out of memory)");
  EXPECT_EQ(error_of(pin), kNoError);
  emulated::inject("cudaHostUnregister", 1, cudaErrorInvalidValue);
  EXPECT_EQ(error_of(unpin),
            "unregister_host: CUDA must succeed, got cudaErrorInvalidValue (invalid argument)");
  EXPECT_EQ(error_of(unpin), kNoError);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

// Where there is no other memory, and what rests can't be waited for, there is no more; how much
// the device has left need not be known.
TEST_F(CudaFaults, RestingMemoryThatCannotBeWaitedFor) {
  emulated::settings().device_bytes = emulated::Memory::get().used(0) + (9 << 20);
  const Stream side = device().create_stream(0);
  Tensor copy;
  freed_while_read(side, copy);
  emulated::inject("cudaEventQuery", 0, cudaErrorNotReady);
  emulated::inject("cudaEventSynchronize", 0, cudaErrorCapturedEvent);
  emulated::inject("cudaMemGetInfo", 0, cudaErrorInvalidValue);
  try {
    empty({1 << 20}, {.device = "cuda"});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("allocate: cuda:0 has no more memory, got 4.00 MiB wanted, 0 bytes free"),
              0u)
        << text;
  }
  emulated::inject_nothing();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_NO_THROW(empty({1 << 20}, {.device = "cuda"})) << "once it can be waited for";
  emulated::settings().device_bytes = emulated::Settings().device_bytes;
  device().destroy_stream(side);
}

namespace {

/// What a fresh process, in which CUDA was never used, says before it ends.
class CudaStarts : public testing::Test {
 protected:
  CudaStarts() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }
  /// The error of a first step on a device, and whether the second is right.
  static void say_of_steps(int index) {
    const auto work = [&] {
      DeviceBackend& gpu = backend(DeviceType::cuda);
      gpu.destroy_stream(gpu.create_stream(index));
      const Tensor x = ones({4, 4}, {.device = Device(DeviceType::cuda, index)});
      conv2d(ones({1, 1, 8, 8}, {.device = x.device()}),
             ones({1, 1, 3, 3}, {.device = x.device()}));
      return matmul(x, x).cpu().at<float>({0, 0});
    };
    try {
      work();
      say("no error");
    } catch (const Error& error) {
      say(error.what());
    }
    emulated::inject_nothing();
    say("then " + std::to_string(work()));
    if (cudaPeekAtLastError() != cudaSuccess) say("an error is left");
  }
  [[noreturn]] static void end() { std::_Exit(0); }
  /// A call that fails there, and what is said then.
  struct Start {
    const char *call, *said;
  };
};

}  // namespace

TEST_F(CudaStarts, WithoutADriver) {
  const auto start = [](const char* call) {
    emulated::inject(call, 1, cudaErrorInitializationError);
    const char* problem = aorta_register_cuda();
    say(problem ? problem : "no problem");
    say(cudaPeekAtLastError() == cudaSuccess ? "nothing left" : "an error is left");
    end();
  };
  const Start starts[] = {
      {"cudaDriverGetVersion", "^there is no NVIDIA driver on this machine\nnothing left"},
      {"cudaGetDeviceCount",
       "^cudaErrorInitializationError \\(initialization error\\)\nnothing left"}};
  for (const auto& [call, said] : starts) {
    emulated::note_failed(call);
    EXPECT_EXIT(start(call), testing::ExitedWithCode(0), said);
  }
}

// The number of devices is asked for once more, and what it was then stays.
TEST_F(CudaStarts, WithoutDevices) {
  const auto start = [] {
    emulated::inject("cudaGetDeviceCount", 2, cudaErrorInitializationError);
    const char* problem = aorta_register_cuda();
    say(problem ? problem : cuda::unavailable_reason());
    say(cudaPeekAtLastError() == cudaSuccess ? "nothing left" : "an error is left");
    end();
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(0), "^there is no GPU\nnothing left");
}

// What is asked once, and then kept, is asked again when it failed.
TEST_F(CudaStarts, WhatIsAskedOnceFails) {
  const auto start = [](const char* call) {
    emulated::inject(call, 1, cudaErrorMemoryAllocation);
    ASSERT_EQ(aorta_register_cuda(), nullptr);
    say_of_steps(2);
    end();
  };
  const Start starts[] = {
      {"cudaStreamCreate", "^device: CUDA must succeed, got cudaErrorMemoryAllocation "},
      {"cudaStreamCreateWithFlags",
       "^create_stream: CUDA must succeed, got cudaErrorMemoryAllocation "},
      {"cudaDeviceGetAttribute", "^device: CUDA must succeed, got cudaErrorMemoryAllocation "},
      {"cublasLtCreate", "^matmul: cuBLASLt must succeed, got CUBLAS_STATUS_NOT_INITIALIZED"},
      {"cudnnCreate", "^conv2d: cuDNN must succeed, got CUDNN_STATUS_NOT_INITIALIZED "}};
  for (const auto& [call, said] : starts) {
    emulated::note_failed(call);
    EXPECT_EXIT(start(call), testing::ExitedWithCode(0),
                std::string(said) + ".*\nthen 4.000000\n$");
  }
}

// A library that can't say which one it is isn't taken.
TEST_F(CudaStarts, WithoutNcclsVersion) {
  const auto start = [] {
    emulated::inject("ncclGetVersion", 1, cudaErrorInitializationError);
    ASSERT_EQ(aorta_register_cuda(), nullptr);
    say(backends::nccl::unavailable_reason());
    end();
  };
  emulated::note_failed("ncclGetVersion");
  EXPECT_EXIT(start(), testing::ExitedWithCode(0), "^libnccl.so.2 doesn't tell its version\n$");
}

}  // namespace aorta
