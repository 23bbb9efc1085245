#include <aorta/nn/parallel/collective_thread.h>

#include <utility>

namespace aorta::nn {

CollectiveThread::Task::Task(Device device) {
  DeviceBackend& backend = aorta::backend(device.type);
  before_ = backend.create_event(device.index);
  behind_ = backend.create_event(device.index);
}

CollectiveThread::Task::~Task() {
  for (const Event& event : {before_, behind_}) backend(event.device.type).destroy_event(event);
}

void CollectiveThread::Task::end(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  has_run_ = true;
  changed_.notify_all();
}

// The error that ended it is its caller's alone then.
std::exception_ptr CollectiveThread::Task::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_run_; });
  return std::exchange(error_, nullptr);
}

void CollectiveThread::Task::join() {
  if (const std::exception_ptr error = wait()) std::rethrow_exception(error);
  backend(behind_.device.type).wait_event(behind_, {behind_.device});
}

void CollectiveThread::Task::settle() {
  wait();
  backend(behind_.device.type).wait_event(behind_, {behind_.device});
}

CollectiveThread& CollectiveThread::of(Communicator& group) {
  std::shared_ptr<void>& companion = group.companion();
  if (!companion) companion = std::make_shared<CollectiveThread>(group);
  return *static_cast<CollectiveThread*>(companion.get());
}

CollectiveThread::CollectiveThread(Communicator& group)
    : parent_(group),
      group_(group.duplicate(/*ends_with_it=*/true)),
      thread_(std::make_unique<TaskThread>()) {}

CollectiveThread::~CollectiveThread() {
  thread_.reset();
  for (const Stream& stream : streams_) backend(stream.device.type).destroy_stream(stream);
}

const Stream* CollectiveThread::stream_of(Device device) {
  if (device.is_cpu()) return nullptr;
  for (const Stream& stream : streams_)
    if (stream.device == device) return &stream;
  return &streams_.emplace_back(backend(device.type).create_stream(device.index));
}

std::shared_ptr<CollectiveThread::Task> CollectiveThread::launch(
    Device device, std::function<void(Communicator& group)> task) {
  DeviceBackend& backend = aorta::backend(device.type);
  const std::shared_ptr<Task> launched(new Task(device));
  backend.record_event(launched->before_, {device});
  const Stream* const stream = stream_of(device);
  thread_->launch([this, &backend, device, stream, launched, timeout = parent_.timeout(),
                   task = std::move(task)]() mutable {
    std::exception_ptr error;
    try {
      if (stream) backend.set_current_stream(*stream);
      group_->set_timeout(timeout);
      backend.wait_event(launched->before_, {device});
      task(*group_);
      backend.record_event(launched->behind_, {device});
    } catch (...) {
      error = std::current_exception();
    }
    task = nullptr;  // what it holds goes before the program goes on
    launched->end(std::move(error));
  });
  return launched;
}

}  // namespace aorta::nn
