#pragma once

#include <aorta/core/device_backend.h>
#include <aorta/data/batch.h>

#include <deque>
#include <functional>

namespace aorta::data {

/// Moves batches to a device on a stream of its own, while the program's stream computes. The
/// device's memory is never given to one stream while the other uses it.
class Stager {
 public:
  /// A batch on its way.
  struct Ticket {
    Event event;
    bool pending = false;
  };

  explicit Stager(Device device);
  /// Waits for what is on its way.
  ~Stager();
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  /// Queues the copy of `host` and whatever `transform` (may be empty) does to it there. The host's
  /// memory is held until the copy is done.
  Batch stage(const Batch& host, const std::function<Batch(const Batch&)>& transform,
              Ticket& ticket);
  /// Makes the program's present stream wait for the batch.
  void deliver(const Batch& batch, Ticket& ticket);

  /// Lets go of the hosts' memory whose copies are done.
  void let_go_of_finished();

 private:
  Device device_;
  DeviceBackend& backend_;
  Stream stream_;
  struct Held {
    Event event;
    Batch host;
  };
  std::deque<Held> held_;
  std::vector<Event> undelivered_;
};

}  // namespace aorta::data
