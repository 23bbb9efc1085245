#pragma once

// Results whose number data decides: blocks count their chunks, one block adds the counts up, and
// blocks write where the ones before them end.

#include <aorta/core/scalar/bits.h>
#include <aorta/cuda/wait.h>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {

inline constexpr int kCountedPerThread = 16;
inline constexpr int64_t kCountedChunk = kThreads * kCountedPerThread;

/// This thread's elements of a chunk: from the first on, up to the end, of `count` in all.
__device__ __forceinline__ int64_t first_counted(int64_t chunk) {
  return chunk * kCountedChunk + static_cast<int64_t>(threadIdx.x) * kCountedPerThread;
}
__device__ __forceinline__ int64_t end_counted(int64_t first, int64_t count) {
  return scalar::minimum(first + kCountedPerThread, count);
}

/// The sum of the counts of the threads before this one; `total` becomes that of all.
__device__ __forceinline__ int64_t count_before(int64_t count, int64_t& total) {
  AORTA_SHARED(int64_t, counts, [kThreads]);
  counts[threadIdx.x] = count;
  __syncthreads();
  for (unsigned step = 1; step < kThreads; step *= 2) {
    const int64_t other = threadIdx.x >= step ? counts[threadIdx.x - step] : 0;
    __syncthreads();
    counts[threadIdx.x] += other;
    __syncthreads();
  }
  total = counts[kThreads - 1];
  const int64_t before = counts[threadIdx.x] - count;
  __syncthreads();
  return before;
}

/// One block: counts become the sums before them; counts[chunks] becomes the sum of all.
template <class Count>
__global__ void __launch_bounds__(kThreads) add_up_kernel(Count* counts, int64_t chunks) {
  int64_t before = 0;
  for (int64_t tile = 0; tile < chunks; tile += kThreads) {
    const int64_t i = tile + threadIdx.x;
    int64_t total = 0;
    const int64_t mine = count_before(i < chunks ? counts[i] : 0, total);
    if (i < chunks) counts[i] = before + mine;
    before += total;
  }
  if (threadIdx.x == 0) counts[chunks] = before;
}

/// Adds the counts of chunks up and waits for their sum, which it returns.
inline int64_t add_up(const char* op, int64_t* counts, int64_t chunks, const LaunchSite& site) {
  const cudaStream_t stream = site.stream();
  launch(op, add_up_kernel<int64_t>, 1, kThreads, stream, counts, chunks);
  int64_t found = 0;
  check_cuda(cudaMemcpyAsync(&found, counts + chunks, sizeof found, cudaMemcpyDeviceToHost, stream),
             op);
  wait_for_copy(site.device(), stream, op);
  return found;
}

}  // namespace aorta::cuda
