#pragma once

// For tests of the double: each plants a bug that real projects had, and the double has to find it;
// beside it stands the code as it should be, in which nothing is found.

#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace aorta::emulated {

/// Device memory with values in it.
template <class T>
T* on_device(const std::vector<T>& values) {
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, values.size() * sizeof(T)), cudaSuccess);
  cudaMemcpyAsync(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, nullptr);
  cudaStreamSynchronize(nullptr);
  return static_cast<T*>(data);
}

/// What lies in device memory, after all work of the current device.
template <class T>
std::vector<T> on_host(const T* data, size_t count) {
  std::vector<T> values(count);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost, nullptr);
  cudaStreamSynchronize(nullptr);
  return values;
}

template <class... Parameters, class... Arguments>
cudaError_t start(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                  Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

__global__ inline void set_all(float* out, int count, float value) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) out[i] = value;
}
__global__ inline void add_to(const float* in, float* out, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) out[i] += in[i];
}

inline cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

inline cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  return event;
}

/// Makes `stream` wait for what `before` has queued.
inline void order(cudaStream_t before, cudaStream_t stream) {
  const cudaEvent_t event = new_event();
  cudaEventRecord(event, before);
  cudaStreamWaitEvent(stream, event, 0);
  cudaEventDestroy(event);
}

class Planted : public testing::Test {
 protected:
  Planted() { Streams::get().reset(); }
  ~Planted() override {
    Streams::get().set_mode(before_.mode);
    settings() = before_;
    Streams::get().reset();
    cudaSetDevice(0);
    cudaGetLastError();
  }

  /// The rules that were broken since the last call, once all work is done.
  std::string found() {
    cudaDeviceSynchronize();
    std::string all;
    for (const std::string& text : collector_.take()) all += text + "\n";
    Streams::get().reset();
    return all;
  }

  /// True when what `found` gives has `text` in it.
  testing::AssertionResult finds(const std::string& text) {
    const std::string all = found();
    if (all.find(text) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "found: " << all;
  }

  /// work(true) waits wherever it has to, and gives the same in each mode. work(false) doesn't, and
  /// each mode but eager shows it: by another result at some time, with threads as a race that the
  /// thread sanitizer sees at once.
  void waits_are_missed(const std::function<std::vector<float>(bool waits)>& work) {
    const auto in_mode = [&](Mode mode, bool waits) {
      Streams::get().set_mode(mode);
      const std::vector<float> result = work(waits);
      cudaDeviceSynchronize();
      return result;
    };
    const std::vector<float> wanted = in_mode(Mode::eager, true);
    if (under_thread_sanitizer()) {
      GTEST_FLAG_SET(death_test_style, "threadsafe");
      EXPECT_EQ(in_mode(Mode::threads, true), wanted);
      EXPECT_DEATH(in_mode(Mode::threads, false), "data race");
      return;
    }
    EXPECT_EQ(in_mode(Mode::eager, false), wanted) << "eager mode hides it";
    for (const Mode mode : {Mode::lazy, Mode::random, Mode::threads}) {
      SCOPED_TRACE(static_cast<int>(mode));
      for (int i = 0; i < 10; ++i) EXPECT_EQ(in_mode(mode, true), wanted);
      bool shown = false;
      for (int i = 0; i < 1000 && !shown; ++i) shown = in_mode(mode, false) != wanted;
      EXPECT_TRUE(shown);
    }
  }

 private:
  Settings before_ = settings();
  Collector collector_;
};

}  // namespace aorta::emulated
