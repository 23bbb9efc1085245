#pragma once

#include <aorta/core/check.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace aorta::cuda {

/// The captures of a GPU that run. To wait for the whole GPU ends each of them, in every mode of
/// capture, so that such waits are made while there is none.
class Captures {
 public:
  static Captures& of(int device);

  /// Calls `work`, which begins one: it runs until end().
  template <class Work>
  void begin(const Work& work) {
    const std::lock_guard lock(mutex_);
    work();
    ++running_;
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      --running_;
    }
    over_.notify_all();
  }
  /// Calls `work` unless one runs, and lets none begin meanwhile; false where it wasn't called.
  template <class Work>
  bool unless_running(const Work& work) {
    const std::lock_guard lock(mutex_);
    return running_ == 0 && work();
  }
  /// Does the same when those that run are over. Throws where that takes too long, as it does where
  /// the step that is captured waits for this thread.
  template <class Work>
  void when_over(const char* op, const Work& work) {
    std::unique_lock lock(mutex_);
    const bool over = over_.wait_for(lock, kPatience, [this] { return running_ == 0; });
    check(over, op, "a device must not be waited for while a step is captured on it",
          "another thread's capture of ", kPatience.count(), " s");
    work();
  }

 private:
  static constexpr std::chrono::seconds kPatience{10};

  std::mutex mutex_;
  std::condition_variable over_;
  int running_ = 0;
};

}  // namespace aorta::cuda
