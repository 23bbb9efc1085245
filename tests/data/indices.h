#pragma once

// What samplers give, and what they are compared with.

#include <aorta/data/sampler.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace aorta::data {

using Indices = std::vector<int64_t>;

inline Indices draw(const Sampler& sampler, uint64_t seed = 1, int64_t epoch = 0) {
  Generator random(seed);
  return sampler.indices(epoch, random);
}

inline Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

/// 0, 1, ... count - 1.
inline Indices first(int64_t count) {
  Indices all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace aorta::data
