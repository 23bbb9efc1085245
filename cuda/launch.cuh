#pragma once

// Kernel launches: grids, streams, checks, and ForEach over the bodies of core/body.

#include <aorta/core/dispatch/device_work.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/limits.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace aorta::cuda {

inline constexpr int kThreads = 256;

/// Where a kernel runs: the device that owns `data`, made current, and this thread's stream there.
class LaunchSite {
 public:
  explicit LaunchSite(const void* data) : device_(device_of(data)), scope_(device_) {}
  int device() const { return device_; }
  cudaStream_t stream() const { return current_stream(device_); }
  /// Blocks of `kThreads` for grid-stride loops over `items`: enough to fill the device some times
  /// over, not so many that starting them costs.
  unsigned blocks(int64_t items) const {
    const int64_t wanted = (items + kThreads - 1) / kThreads;
    return grid_blocks(std::clamp<int64_t>(wanted, 1, int64_t{multiprocessor_count(device_)} * 64));
  }

 private:
  int device_;
  DeviceScope scope_;
};

/// This thread's first item of a grid-stride loop, and the distance to its next.
__device__ __forceinline__ int64_t first_item() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t item_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

#ifndef AORTA_SHARED
/// AORTA_SHARED(float, tile, [32][33]); declares memory that the threads of a block share.
#define AORTA_SHARED(type, name, extents) __shared__ type name extents
#endif

/// Queues kernel(arguments...) for `op`: `grid` blocks of `block` threads, at most `kThreads`,
/// which every kernel is compiled for. Throws when it can't start: the error is this launch's own
/// and not what an earlier call left behind.
template <class... Parameters, class... Arguments>
void launch(const char* op, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  const DeviceWork work(op, DeviceType::cuda, stream);
  check_cuda(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), op);
  check_finished(op, stream);
}

template <class Body>
__global__ void __launch_bounds__(kThreads)
    for_each_kernel(const __grid_constant__ Body body, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) body(i);
}

/// Runs body(i) for every i in [0, count) on the device that owns `data`; any order, so a body
/// writes to places of its own.
template <class Body>
void for_each(const char* op, const void* data, int64_t count, const Body& body) {
  if (count <= 0) return;
  const LaunchSite site(data);
  launch(op, for_each_kernel<Body>, site.blocks(count), kThreads, site.stream(), body, count);
}

}  // namespace aorta::cuda
