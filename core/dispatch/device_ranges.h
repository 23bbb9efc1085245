#pragma once

// What the profiler keeps of DeviceWork (device_work.h).

#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/profiler.h>

#include <mutex>
#include <string>
#include <vector>

namespace aorta::detail {

/// The events of what was queued while a profiler ran.
class DeviceNotes {
 public:
  DeviceNotes() = default;
  DeviceNotes(DeviceNotes&&) noexcept = default;
  DeviceNotes& operator=(DeviceNotes&&) noexcept = default;
  ~DeviceNotes();

  /// Waits for the work. Times are since the profiler was made.
  std::vector<DeviceRange> read();

  struct Base {
    Device device;
    Event event;  // on a stream of its own, so that it happened when it was queued
    int64_t at_ns = 0;
  };
  struct Work {
    std::string name, module;
    Stream stream;
    Event start, end;
  };
  std::vector<Base> bases;
  std::vector<Work> works;  // in the order in which they were queued
  std::string problem;      // why the end of one isn't known
};

/// From now on work is noted; times count from `start_ns`.
void start_device_notes(int64_t start_ns);
/// Ends that, and gives what was noted.
DeviceNotes take_device_notes();

}  // namespace aorta::detail
