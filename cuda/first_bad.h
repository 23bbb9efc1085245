#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace aorta::cuda {

/// Where an op's kernels note the place of the first bad value that they see, by atomicMin: in
/// page-locked memory, which they touch only then. The host doesn't wait for it: who waits for the
/// device next, or launches a captured step, throws what was found (throw_first_bad).
class FirstBad {
 public:
  FirstBad(const char* op, int device, cudaStream_t stream);
  /// After the kernels are queued.
  ~FirstBad();
  FirstBad(const FirstBad&) = delete;
  FirstBad& operator=(const FirstBad&) = delete;

  unsigned long long* data() const { return place_; }
  /// After the kernels, where each launch is waited for: the place, or -1, which it is elsewhere.
  int64_t known();

 private:
  int device_;
  unsigned long long* place_;  // null when it was given back
};

/// A wait for a stream, or for all of a device where it's null: it begins when this is made, and is
/// over when what was queued before is done.
class NotedWait {
 public:
  NotedWait(int device, cudaStream_t stream);
  void over() const;

 private:
  int device_;
  cudaStream_t stream_;
  uint64_t queued_;
};

/// Throws what the first op of those that have found something has found, and forgets it: an error
/// of an earlier call, and not of the op that waits.
void throw_first_bad(int device);

}  // namespace aorta::cuda
