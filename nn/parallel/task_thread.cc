#include <aorta/autograd/grad_mode.h>
#include <aorta/core/thread_limit.h>
#include <aorta/nn/parallel/task_thread.h>

#include <utility>

namespace aorta::nn {

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void TaskThread::launch(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push(std::move(task));
  changed_.notify_all();
}

void TaskThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void TaskThread::work() {
  const ThreadLimit one(1);
  const NoGradGuard no_grad;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !tasks_.empty() || ends_; });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop();
    busy_ = true;
    const bool left_out = bool(error_);
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!left_out) task();
    } catch (...) {
      error = std::current_exception();
    }
    task = nullptr;
    lock.lock();
    busy_ = false;
    if (error) error_ = error;
    changed_.notify_all();
  }
}

}  // namespace aorta::nn
