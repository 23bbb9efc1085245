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

  unsigned long long* data() const { return place_; }
  /// After the kernels, where each launch is waited for: the place, or -1, which it is elsewhere.
  int64_t known() const;

 private:
  int device_;
  unsigned long long* place_;
};

/// Says that what was queued on `stream` is done, or on all streams where it's null.
void note_waited(int device, cudaStream_t stream);

/// Throws what the first op of those that have found something has found, and forgets it: an error
/// of an earlier call, and not of the op that waits.
void throw_first_bad(int device);

}  // namespace aorta::cuda
