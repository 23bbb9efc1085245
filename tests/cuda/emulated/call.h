#pragma once

#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <set>
#include <string>

namespace aorta::emulated {

/// Where NVIDIA writes down what each group of calls demands.
namespace page {
inline constexpr const char* kMemory = "docs.nvidia.com/cuda/cuda-runtime-api, Memory Management";
inline constexpr const char* kStream = "docs.nvidia.com/cuda/cuda-runtime-api, Stream Management";
inline constexpr const char* kEvent = "docs.nvidia.com/cuda/cuda-runtime-api, Event Management";
inline constexpr const char* kDevice = "docs.nvidia.com/cuda/cuda-runtime-api, Device Management";
inline constexpr const char* kLimits =
    "docs.nvidia.com/cuda/cuda-c-programming-guide, Compute Capabilities: technical specifications";
inline constexpr const char* kErrors =
    "docs.nvidia.com/cuda/cuda-runtime-api, Error Handling: cudaGetLastError";
inline constexpr const char* kCublasLt = "docs.nvidia.com/cuda/cublas, cublasLtMatmul()";
}  // namespace page

/// What a call returns, and what it leaves behind for cudaGetLastError.
cudaError_t finish_call(cudaError_t error);
/// What keeps each call from being made, in a process that is none of CUDA's or no more.
cudaError_t closed();
/// The fault of earlier work, or an injected one.
cudaError_t begin_call(const char* name);
/// True where a call that asks nothing of the device, as one that fills a descriptor, is to fail.
bool is_injected(const char* name);

/// The machine has one state: one call, or one piece of a stream's work, at a time.
std::mutex& machine_mutex();
class MachineLock {
 public:
  MachineLock() : lock_(machine_mutex()) {}

 private:
  Unseen unseen_;
  std::lock_guard<std::mutex> lock_;
};

/// A call of the runtime: `body()` is made unless an earlier fault or an injected one forbids it.
template <class Body>
cudaError_t call(const char* name, const Body& body) {
  if (const cudaError_t error = closed(); error != cudaSuccess) return finish_call(error);
  const MachineLock lock;
  if (const cudaError_t error = begin_call(name); error != cudaSuccess) return finish_call(error);
  return finish_call(body());
}

/// Reports a broken rule and gives the call its error.
cudaError_t broken(const char* name, const std::string& rule, const std::string& got,
                   const char* page, cudaError_t error);

/// The device that is current in this thread.
int current_device();

/// From now on the `nth` call named so, counted from 1, fails with `error` and does nothing; 0:
/// each.
void inject(const std::string& name, int nth, cudaError_t error);
void inject_nothing();
/// Calls named so since the last `inject` of that name.
int calls_of(const std::string& name);
/// How often each call was made since the last time that this was asked.
std::map<std::string, int> take_calls();
/// The calls that have failed so far because they were to, here or, as it is noted, in another
/// process.
std::set<std::string> failed_calls();
void note_failed(const std::string& name);

}  // namespace aorta::emulated
