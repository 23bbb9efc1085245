#include <aorta/data/stager.h>

namespace aorta::data {
namespace {

// While it lives, work of this thread goes to `stream`.
class StreamScope {
 public:
  StreamScope(DeviceBackend& backend, Stream stream)
      : backend_(backend), outer_(backend.current_stream(stream.device.index)) {
    backend_.set_current_stream(stream);
  }
  ~StreamScope() { backend_.set_current_stream(outer_); }
  Stream outer() const { return outer_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  DeviceBackend& backend_;
  Stream outer_;
};

}  // namespace

Stager::Stager(Device device)
    : device_(device),
      backend_(backend(device.type)),
      stream_(backend_.create_stream(device.index)) {}

Stager::~Stager() {
  try {
    backend_.synchronize_stream(stream_);
    let_go_of_finished();
    for (const Event event : undelivered_) backend_.destroy_event(event);
    backend_.destroy_stream(stream_);
  } catch (...) {  // a device that is lost
  }
}

void Stager::let_go_of_finished() {
  while (!held_.empty() && backend_.event_done(held_.front().event)) {
    backend_.destroy_event(held_.front().event);
    held_.pop_front();
  }
}

Batch Stager::stage(const Batch& host, const std::function<Batch(const Batch&)>& transform,
                    Ticket& ticket) {
  const StreamScope scope(backend_, stream_);
  Batch batch = host.to(device_, true);
  const Event copied = backend_.create_event(device_.index);
  backend_.record_event(copied, stream_);
  held_.push_back({copied, host});
  if (transform) {
    // It may read what the program's stream is still to write.
    const Event made = backend_.create_event(device_.index);
    backend_.record_event(made, scope.outer());
    backend_.wait_event(made, stream_);
    backend_.destroy_event(made);
    batch = transform(batch);
  }
  ticket.event = backend_.create_event(device_.index);
  backend_.record_event(ticket.event, stream_);
  ticket.pending = true;
  undelivered_.push_back(ticket.event);
  return batch;
}

void Stager::deliver(const Batch& batch, Ticket& ticket) {
  if (!ticket.pending) return;
  const Stream present = backend_.current_stream(device_.index);
  backend_.wait_event(ticket.event, present);
  std::erase_if(undelivered_,
                [&](const Event& event) { return event.handle == ticket.event.handle; });
  backend_.destroy_event(ticket.event);
  ticket.pending = false;
  for (const auto& [name, tensor] : batch.tensors())
    if (tensor.device() == device_) backend_.record_stream(tensor.storage()->data(), present);
}

}  // namespace aorta::data
