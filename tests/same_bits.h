#pragma once

#include <aorta/core/tensor.h>

#include <cstring>

namespace aorta {

/// Whether two tensors have one shape and dtype, and the same bits; their devices and layouts may
/// differ.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  if (x.shape() != y.shape() || x.dtype() != y.dtype()) return false;
  return x.numel() == 0 || std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())) == 0;
}

}  // namespace aorta
