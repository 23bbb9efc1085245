// Preloaded into aorta-echo it is a machine with a full disk or a clock that jumps back.
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

/// FREE_BYTES: what every file system has left.
extern "C" int statvfs(const char*, struct statvfs* status) noexcept {
  const char* text = std::getenv("FREE_BYTES");
  *status = {};
  status->f_bsize = status->f_frsize = 4096;
  status->f_bavail = status->f_bfree =
      text ? std::strtoull(text, nullptr, 10) / 4096 : fsblkcnt_t{1} << 30;
  return 0;
}

/// CLOCK_STEP_BACK: seconds that the time of day is earlier each time that it is asked for.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  static std::atomic<long> back{0};
  const long result = syscall(SYS_clock_gettime, clock, time);
  const char* text = std::getenv("CLOCK_STEP_BACK");
  if (clock == CLOCK_REALTIME && text) time->tv_sec -= back += std::strtol(text, nullptr, 10);
  return static_cast<int>(result);
}
