#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

namespace aorta::nn {

/// A thread that does tasks one after another, on one CPU and without recording gradients.
class TaskThread {
 public:
  TaskThread() : thread_([this] { work(); }) {}
  /// Waits for the tasks that are left.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Leaves a task to the thread, which doesn't throw.
  void launch(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  bool ends_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace aorta::nn
