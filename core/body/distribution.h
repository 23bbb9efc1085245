#pragma once

// Which numbers a random fill gives, and where it starts: what users' headers need of random.h.

#include <cstdint>

namespace aorta::body {

enum class Distribution : uint8_t {
  uniform,
  normal,
  log_normal,
  exponential,
  cauchy,
  geometric,
  randint,
  bernoulli,
  poisson,  // from here on samplers of doubles: draws.h
  gamma,
  binomial,
  von_mises
};

/// Where a fill starts in its generator.
struct RandomPosition {
  uint64_t seed, stream, position;
};

}  // namespace aorta::body
