#pragma once

// Numbers of channels where they lie, in the dtype that they have: parameters, their gradients and
// running statistics of normalisations. They are computed with in f64.

#include <aorta/core/dtype.h>
#include <aorta/core/scalar/convert.h>

namespace aorta::scalar {

/// A number a channel, `stride` elements apart. Without data there are none.
struct ChannelNumbers {
  void* data = nullptr;
  DType dtype = DType::f32;  // floating
  int64_t stride = 1;

  AORTA_INLINE explicit operator bool() const { return data != nullptr; }
  AORTA_INLINE double get(int64_t i) const {
    switch (dtype) {
      case DType::f64:
        return element<double>(i);
      case DType::f16:
        return convert_value<double>(element<Half>(i));
      case DType::bf16:
        return convert_value<double>(element<BFloat16>(i));
      default:
        return convert_value<double>(element<float>(i));
    }
  }
  AORTA_INLINE void set(int64_t i, double value) const {
    switch (dtype) {
      case DType::f64:
        element<double>(i) = value;
        break;
      case DType::f16:
        element<Half>(i) = convert_value<Half>(value);
        break;
      case DType::bf16:
        element<BFloat16>(i) = convert_value<BFloat16>(value);
        break;
      default:
        element<float>(i) = convert_value<float>(value);
    }
  }

 private:
  template <class T>
  AORTA_INLINE T& element(int64_t i) const {
    return static_cast<T*>(data)[i * stride];
  }
};

/// The statistics that a normalisation in training moves, and that of evaluation goes by.
struct RunningStatistics {
  ChannelNumbers mean, var;
  double momentum = 0;
  double unbiased = 1;         // n / (n - 1): of a variance, for n values
  int64_t* batches = nullptr;  // how many moved them; may be null
};

}  // namespace aorta::scalar
