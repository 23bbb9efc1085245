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

void TaskThread::work() {
  const ThreadLimit one(1);
  const NoGradGuard no_grad;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !tasks_.empty() || ends_; });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace aorta::nn
