#include <aorta/core/dispatch/profiler.h>
#include <aorta/nn/parallel/collective_thread.h>

#include <algorithm>
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

void CollectiveThread::Task::join(const char* what) {
  {
    const ProfilerRange range(what, {}, " waits");
    ran_.get();
  }
  backend(behind_.device.type).wait_event(behind_, {behind_.device});
}

void CollectiveThread::Task::settle() {
  ran_.wait();
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

void CollectiveThread::add_stream(Device device) {
  if (device.is_cpu() || std::any_of(streams_.begin(), streams_.end(),
                                     [&](const Stream& stream) { return stream.device == device; }))
    return;
  DeviceBackend& backend = aorta::backend(device.type);
  streams_.push_back(backend.create_stream(device.index));
  thread_->launch([&backend, stream = streams_.back()] { backend.set_current_stream(stream); });
}

std::shared_ptr<CollectiveThread::Task> CollectiveThread::launch(
    Device device, std::function<void(Communicator& group)> task) {
  add_stream(device);
  DeviceBackend& backend = aorta::backend(device.type);
  const std::shared_ptr<Task> launched(new Task(device));
  backend.record_event(launched->before_, {device});
  const auto promise = std::make_shared<std::promise<void>>();
  launched->ran_ = promise->get_future().share();
  thread_->launch([this, &backend, device, launched, promise, timeout = parent_.timeout(),
                   task = std::move(task)]() mutable {
    try {
      group_->set_timeout(timeout);
      backend.wait_event(launched->before_, {device});
      task(*group_);
      backend.record_event(launched->behind_, {device});
      task = nullptr;  // what it holds goes before the program goes on
      promise->set_value();
    } catch (...) {
      task = nullptr;
      promise->set_exception(std::current_exception());
    }
  });
  return launched;
}

}  // namespace aorta::nn
