#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace aorta {

/// Nanoseconds of a clock that is never set, and that all processes share.
inline int64_t nanoseconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

/// That time in seconds.
inline double seconds_now() { return 1e-9 * static_cast<double>(nanoseconds_now()); }

/// So many seconds for poll(), which counts milliseconds in an int: at most a week of them, after
/// which a caller who waits on asks again.
inline int poll_milliseconds(double seconds) {
  constexpr double kWeek = 7 * 24 * 3600;
  return seconds > 0 ? static_cast<int>(1e3 * std::min(seconds, kWeek)) : 0;
}

}  // namespace aorta
