#pragma once

#include <aorta/aorta.h>

#include <zlib.h>
#include <cmath>

// Weights, inputs and targets by name: the twin of tests/fixtures/make_models.py.

namespace aorta::models {

/// f64 numbers in [-1, 1): splitmix64 of crc32(name) * 2^32 + i, its upper 53 bits.
inline Tensor formula(const std::string& name, const Shape& shape) {
  const Tensor result = empty(shape, {.dtype = DType::f64});
  const uint64_t seed =
      crc32(0, reinterpret_cast<const Bytef*>(name.data()), static_cast<uInt>(name.size()));
  for (int64_t i = 0; i < result.numel(); ++i) {
    uint64_t z = (seed << 32) + static_cast<uint64_t>(i) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    result.data<double>()[i] = std::ldexp(static_cast<double>(z >> 11), -52) - 1;
  }
  return result;
}

/// What `name` holds in every network of the fixtures.
inline Tensor state_value(const std::string& name, const Tensor& like) {
  const auto ends_with = [&](const std::string& end) {
    return name.size() >= end.size() &&
           name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  if (ends_with("num_batches_tracked")) return zeros({}, {.dtype = DType::i64});
  if (ends_with("relative_position_index")) return like;
  const Tensor u = formula(name, like.shape());
  if (ends_with("running_var")) return 1 + 0.3 * u;
  if (like.dim() > 1) {
    return u * std::sqrt(6.0 / static_cast<double>(like.numel() / like.size(0)));
  }
  if (ends_with("bn2.weight") || ends_with("bn3.weight") || ends_with("conv2.1.weight") ||
      ends_with("conv.3.weight"))
    return 0.2 + 0.04 * u;
  return ends_with("weight") ? 1 + 0.2 * u : 0.1 * u;
}

}  // namespace aorta::models
