#pragma once

#include <aorta/core/device.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace aorta::nn {

/// A thread for each of some devices, which may be listed more than once. They live as long as this
/// object, and wait without using the CPU.
class DeviceThreads {
 public:
  explicit DeviceThreads(std::vector<Device> devices);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  /// Calls `function(part)` for each part of [0, parts) on the thread of devices[part], all at
  /// once, and returns when all have ended. There the device is the current one; gradient mode,
  /// autocast, anomaly mode and the module path are the caller's, and the CPUs that the caller may
  /// use are divided among the parts. Where some fail, the first part's error that isn't another's
  /// (RankError) is thrown: `cpu:1, part 2 of 2: fc.hidden: linear: ...`. `failed(part, text)`, if
  /// given, is called at once on the thread of a part that fails.
  void run(size_t parts, const std::function<void(size_t part)>& function,
           const std::function<void(size_t part, const std::string& text)>& failed = {});

 private:
  struct Worker;
  void work(Worker& worker);
  void end();

  const std::vector<Device> devices_;
  std::mutex calls_;  // one call of run() at a time
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace aorta::nn
