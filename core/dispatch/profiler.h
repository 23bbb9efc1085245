#pragma once

#include <aorta/core/dispatch/device_work.h>
#include <aorta/core/tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace aorta {

/// One thing that ran.
struct ProfiledRange {
  std::string name;      // of the op ("matmul"), its gradient ("matmul backward"), or the user's
  std::string module;    // "layer1.0", or empty
  std::string shapes;    // of the inputs: "[8,30], [30,10]"
  int thread = 0;        // 0 is the thread that made the profiler
  int64_t start_ns = 0;  // since the profiler was made
  int64_t duration_ns = 0;
  int64_t multiply_adds = 0;  // of products, those with padding left out
  /// The bytes of an op's inputs, the memory that was allocated for it and what it wrote in place;
  /// what must move if each byte moves once.
  int64_t bytes = 0;
};

/// One piece of work that a device did on a stream: a kernel, a product, a copy, or a whole graph.
struct DeviceRange {
  std::string name;    // of the op that queued it: "softmax"
  std::string module;  // "layer1.0", or empty
  Device device;
  int stream = 0;        // of the device's streams; 0 is the first that did any
  int64_t start_ns = 0;  // since the profiler was made, as the device's events say
  int64_t duration_ns = 0;
};

/// Records what all threads run while it lives, until stop(). One at a time; what runs without one
/// pays a comparison an op.
///
///     Profiler profiler;
///     step();
///     profiler.stop();
///     std::cout << profiler.table();
///     profiler.write_trace("trace.json");   // chrome://tracing, or ui.perfetto.dev
class Profiler {
 public:
  Profiler();
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void stop();
  /// In the order in which they began; ranges nest. After stop().
  const std::vector<ProfiledRange>& ranges() const;
  /// In the order in which it was queued; of one stream no two overlap. After stop(); the first
  /// reading waits for the work.
  const std::vector<DeviceRange>& device_ranges() const;
  /// A line a name and shapes of inputs, the longest first: calls, time without the ranges inside,
  /// its share of all, time with them, mean. Then a line a device and name: calls, share, time,
  /// mean.
  std::string table() const;
  /// Chrome's trace format, written atomically. A device is a process of its own, a stream its
  /// thread.
  void write_trace(const Text& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A range of a running profiler, from its construction to its end: `ProfilerRange range("load");`
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name, std::initializer_list<const Tensor*> inputs = {},
                         const char* suffix = "") {
    if (detail::profiling.load(std::memory_order_relaxed)) [[unlikely]]
      begin(name, inputs, suffix);
  }
  ~ProfilerRange() {
    if (open_) [[unlikely]]
      end();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

  /// Whether a profiler listens: what only it wants to know needn't be counted otherwise.
  bool is_open() const { return open_; }
  /// Adds to what the range says of its work.
  void count(int64_t multiply_adds, int64_t bytes = 0) const;

 private:
  void begin(const char* name, std::initializer_list<const Tensor*> inputs, const char* suffix);
  void end();

  bool open_ = false;
  bool told_ = false;      // tools that listen know it
  uint32_t run_ = 0;       // which profiler
  size_t place_ = 0;       // in the thread's list
  int64_t allocated_ = 0;  // by this thread before
};

}  // namespace aorta
