#pragma once

#include <aorta/core/device_backend.h>
#include <aorta/cuda/check.h>
#include <aorta/cuda/rows.h>

#include <cuda_runtime.h>

#include <utility>

namespace aorta::cuda {

/// GPUs that one process can use.
inline constexpr int kMaxDevices = 64;

/// The device that is current in this thread; asked of CUDA itself, so that other code that uses
/// CUDA may set it too.
int current_device_index(const char* op = "device");

/// The stream that this thread queues work for a device on: `set_current_stream`'s, or the device's
/// default one. The default stream is one of Aorta's own, so that it can be captured; it waits for
/// the legacy stream 0 and that one waits for it, so that code which uses stream 0 needs no care.
cudaStream_t current_stream(int device);

/// The device whose memory `data` points into: kernels run there. Throws for memory that no device
/// can use.
int device_of(const void* data);

/// Multiprocessors of a device.
int multiprocessor_count(int device);

/// Makes a device current for CUDA calls while it lives. What launches kernels has one, because a
/// tensor's device need not be the current one. Errors name `op`.
class DeviceScope {
 public:
  explicit DeviceScope(int device, const char* op = "device")
      : previous_(current_device_index(op)), device_(device) {
    if (device_ != previous_) check_cuda(cudaSetDevice(device_), op);
  }
  // What fails here isn't left for the next launch to find.
  ~DeviceScope() {
    if (device_ != previous_ && cudaSetDevice(previous_) != cudaSuccess) cudaGetLastError();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_, device_;
};

/// Memory for the length of a kernel's work: given back, in stream order, when it goes out of
/// scope.
class Workspace {
 public:
  Workspace(int64_t bytes, int device);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  int device_;
};

/// The one backend object of the plugin.
DeviceBackend& cuda_backend();

/// An event of the pool, which goes back there with it, whatever fails before.
class OwnedEvent {
 public:
  explicit OwnedEvent(int device) : event_(cuda_backend().create_event(device)) {}
  OwnedEvent(OwnedEvent&& other) noexcept : event_(std::exchange(other.event_, {})) {}
  OwnedEvent& operator=(OwnedEvent&&) = delete;
  ~OwnedEvent() { cuda_backend().destroy_event(event_); }
  Event get() const { return event_; }

 private:
  Event event_;
};

}  // namespace aorta::cuda
