#pragma once

#include <time.h>

#include <cstdint>

namespace aorta {

/// Nanoseconds of a clock that is never set, and that all processes share.
inline int64_t nanoseconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

/// The same in seconds.
inline double seconds_now() { return 1e-9 * static_cast<double>(nanoseconds_now()); }

}  // namespace aorta
