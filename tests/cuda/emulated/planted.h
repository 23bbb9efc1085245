#pragma once

// For tests of the double: each plants a bug that real projects had, and the double has to find it;
// beside it stands the code as it should be, in which nothing is found.

#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
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

class Planted : public testing::Test {
 protected:
  Planted() { Streams::get().reset(); }
  ~Planted() override {
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

  /// What `work` gives in each mode; equal where it keeps the rules of streams.
  std::vector<std::vector<float>> in_each_mode(const std::function<std::vector<float>()>& work) {
    std::vector<std::vector<float>> results;
    for (const Mode mode : {Mode::eager, Mode::lazy, Mode::random}) {
      settings().mode = mode;
      results.push_back(work());
      cudaDeviceSynchronize();
      Streams::get().reset();
    }
    return results;
  }

 private:
  Settings before_ = settings();
  Collector collector_;
};

}  // namespace aorta::emulated
