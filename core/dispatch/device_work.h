#pragma once

#include <aorta/core/device.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace aorta {

namespace detail {
extern std::atomic<bool> profiling;
}

/// Work that is queued on a device's stream from its construction to its end: a running profiler
/// has the device note when it begins and when it is done, and waits for neither. What is queued
/// within belongs to it. In a captured step nothing is noted: a launch of the graph is one piece of
/// work.
class DeviceWork {
 public:
  /// Begins work on the device that is current.
  DeviceWork(const char* name, DeviceType type, void* stream) {
    if (detail::profiling.load(std::memory_order_relaxed)) [[unlikely]]
      begin(name, type, stream);
  }
  ~DeviceWork() { end(); }
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  /// Before its destructor: nothing more of it is queued.
  void end() {
    if (run_ != 0) [[unlikely]]
      close(true);
  }
  /// It failed, and its end isn't noted: another thread may queue it still.
  void abandon() {
    if (run_ != 0) close(false);
  }

 private:
  void begin(const char* name, DeviceType type, void* stream);
  void close(bool done);

  uint32_t run_ = 0;  // which profiler's; 0: nobody's
  size_t place_ = 0;  // in its list
};

}  // namespace aorta
