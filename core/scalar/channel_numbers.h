#pragma once

// Numbers of channels where they lie, in the dtype that they have: parameters, their gradients and
// running statistics of normalisations. They are computed with in f64.

#include <aorta/core/dtype.h>
#include <aorta/core/host_device.h>

#include <cstdint>

namespace aorta::scalar {

/// A number a channel, `stride` elements apart. Without data there are none.
struct ChannelNumbers {
  void* data = nullptr;
  DType dtype = DType::f32;  // floating
  int64_t stride = 1;

  AORTA_INLINE explicit operator bool() const { return data != nullptr; }
  // In scalar/normalization.h.
  AORTA_HOST_DEVICE double get(int64_t i) const;
  AORTA_HOST_DEVICE void set(int64_t i, double value) const;
};

/// The statistics that a normalisation in training moves, and that of evaluation goes by.
struct RunningStatistics {
  ChannelNumbers mean, var;
  double momentum = 0;
  double unbiased = 1;         // n / (n - 1): of a variance, for n values
  int64_t* batches = nullptr;  // how many moved them; may be null
};

}  // namespace aorta::scalar
