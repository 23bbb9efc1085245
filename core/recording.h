#pragma once

#include <aorta/core/device_backend.h>
#include <aorta/core/tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace aorta::kernel {

/// What a step that is captured into a graph (capture.h) has beside the graph. A launch of a graph
/// does what the device did, with the arguments of the capture, and nothing of what the host did:
/// numbers that are others at each launch lie in memory of the device, and what the host has to do
/// is noted. Used by one thread at a time.
class Recording {
 public:
  explicit Recording(Device device) : device_(device) {}
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// The one that this thread makes; null outside of a capture.
  static Recording* current();

  /// The thread's ops belong to it while one lives.
  class Scope {
   public:
    explicit Scope(Recording& recording);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  Device device() const { return device_; }

  /// Memory of the device, aligned to 16 bytes, for kernels to read `bytes` of numbers from: at the
  /// first launch those at `now`, at each later one what `renew(to)` writes.
  const void* numbers(const void* now, int64_t bytes, std::function<void(void* to)> renew);
  /// A tensor of the host, whose elements are the same at each launch, on the device.
  Tensor constant(const Tensor& host);
  /// Calls `action` before each launch but the first, in one order with the numbers.
  void before_launch(std::function<void()> action);
  /// What the host has done of the step while it was captured, `undo` takes back if the capture
  /// fails: then nothing has happened. It must not throw.
  void on_failure(std::function<void()> undo) { undos_.push_back(std::move(undo)); }
  /// Takes back what was done, the last first; or says that it stays.
  void undo();
  void settle() { undos_.clear(); }
  /// Says that `tensor` may be used when the graph is gone, on the stream that is current then.
  void keep(const Tensor& tensor) { kept_.push_back(tensor); }
  /// Calls `action` when the graph runs no more. It must not throw.
  void at_end(std::function<void()> action) { ends_.push_back(std::move(action)); }

  /// The host's part of a launch, on the current stream: everything that is renewed, but for the
  /// first launch. Throws what earlier work of the device has found, before anything is done.
  void prepare_launch(bool first);

 private:
  class Aside;
  struct Numbers {
    Tensor device;  // bytes
    std::vector<std::byte> host, sent;
    int64_t used = 0;
  };
  Numbers& room_for(int64_t bytes);
  void send_numbers();

  const Device device_;
  std::vector<std::unique_ptr<Numbers>> numbers_;
  std::vector<std::function<void()>> renewals_, undos_, ends_;
  std::vector<Tensor> kept_, constants_;
};

/// Throws "op: rule, got what" where this thread captures a step.
void refuse_in_capture(const char* op, const char* rule, const char* what);

}  // namespace aorta::kernel
