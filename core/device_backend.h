#pragma once

#include <aorta/core/device.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace aorta {

/// A queue of work on a device; the null handle is the device's current stream. The CPU's are
/// trivial.
struct Stream {
  Device device;
  void* handle = nullptr;
};

/// A point in a stream's work that others can wait for.
struct Event {
  Device device;
  void* handle = nullptr;
};

/// Work that was captured, to be launched as often as one likes.
struct Graph {
  Device device;
  void* handle = nullptr;
};

/// What an allocator has given out, in bytes, rounded up to size classes.
struct MemoryStats {
  int64_t bytes_in_use = 0;  // given out and not yet taken back
  int64_t bytes_cached = 0;  // taken back and kept
  int64_t peak_bytes = 0;    // the most that was in use at once
  int64_t system_calls = 0;  // times that memory was taken from the system or the driver
};

/// A library that a plugin looks for where it runs.
struct DeviceLibrary {
  int64_t version = 0;  // as the library counts; 0 where it can't be used
  std::string problem;  // why it can't be used; empty where it can
};

/// What a kind of device offers to the rest of Aorta: memory, copies, streams and events. `core/`
/// has the CPU's; a plugin registers its own. Work is queued on the calling thread's current
/// stream.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  virtual int device_count() = 0;
  virtual int current_device() = 0;
  virtual void set_current_device(int index) = 0;

  /// At least `bytes` of device memory, aligned to 64 bytes; freed in the order of the stream.
  virtual void* allocate(int64_t bytes, int index) = 0;
  virtual void deallocate(void* data, int64_t bytes, int index) = 0;
  /// Says that work on `stream` uses memory that was allocated (as device or page-locked memory)
  /// for another stream: freed, it isn't given out again before that work is done.
  virtual void record_stream(void* data, Stream stream) = 0;
  virtual MemoryStats memory_stats(int index) = 0;
  virtual void reset_peak_memory(int index) = 0;
  virtual void empty_cache() = 0;

  /// Copies between devices or between the host and a device. Returns when the copy is done, unless
  /// `non_blocking` and the host side is page-locked: then when it is queued on the current stream.
  virtual void copy(void* destination, Device destination_device, const void* source,
                    Device source_device, int64_t bytes, bool non_blocking) = 0;
  virtual void fill_bytes(void* destination, uint8_t value, int64_t bytes, int index) = 0;

  /// Page-locked host memory, and locking of memory that is there already (a shared ring, say).
  virtual void* allocate_pinned(int64_t bytes) = 0;
  virtual void deallocate_pinned(void* data, int64_t bytes) = 0;
  virtual void register_host(void* data, int64_t bytes) = 0;
  virtual void unregister_host(void* data) = 0;

  virtual Stream create_stream(int index) = 0;
  virtual void destroy_stream(Stream stream) = 0;
  virtual Stream current_stream(int index) = 0;
  virtual void set_current_stream(Stream stream) = 0;
  virtual void synchronize_stream(Stream stream) = 0;
  virtual void synchronize_device(int index) = 0;
  /// Throws what kernels have found that nobody has waited for: an index out of range, say.
  virtual void check_values(int) {}
  virtual Event create_event(int index) = 0;
  virtual void destroy_event(Event event) = 0;
  virtual void record_event(Event event, Stream stream) = 0;
  virtual void wait_event(Event event, Stream stream) = 0;
  virtual bool event_done(Event event) = 0;
  /// An event that says when it happened too, in a pool of its own.
  virtual Event create_timer(int index) { return create_event(index); }
  virtual void destroy_timer(Event timer) { destroy_event(timer); }
  /// A profiler's range begins in this thread, and the last one that began ends: for tools that
  /// listen to the device's programs.
  virtual void begin_range(const char*) {}
  virtual void end_range() {}
  /// From one timer to another of its device, when both have happened.
  virtual int64_t nanoseconds_between(Event, Event) { return 0; }

  /// Until end_capture, what this thread queues on `stream`, one of create_stream, becomes a graph
  /// and isn't done. Memory that is allocated for the stream is the graph's until destroy_graph.
  /// False where launches can't be captured, because each is waited for.
  virtual bool begin_capture(Stream stream);
  virtual Graph end_capture(Stream stream);
  /// Queues a graph on a stream; of one graph one launch runs at a time.
  virtual void launch_graph(Graph graph, Stream stream);
  /// Ends a graph that isn't running (a null handle: of a capture that failed), and gives back the
  /// memory of the stream that it was captured on.
  virtual void destroy_graph(Graph graph, Stream stream);

  /// The library that computes convolutions beside the backend's own kernels.
  virtual DeviceLibrary convolution_library() { return {.version = 0, .problem = "there is none"}; }
};

/// The backend of a device type. For CUDA this loads the plugin on first use; when there is none,
/// it throws the reason.
DeviceBackend& backend(DeviceType type);

/// Null where it isn't loaded yet.
DeviceBackend* loaded_backend(DeviceType type);

/// From now on no device but the CPU is available, for this reason: in a process where a driver
/// can't work, as one that was forked by a program that uses it.
void refuse_devices(const char* reason);

/// Called once by a plugin.
void register_backend(DeviceType type, DeviceBackend* backend);

}  // namespace aorta
