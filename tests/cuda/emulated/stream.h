#pragma once

#include <aorta/tests/cuda/emulated/capture.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace aorta::emulated {

/// A place in the work of a stream: everything before it.
struct Point {
  CUstream_st* stream = nullptr;
  uint64_t count = 0;
};

/// One piece of queued work; it waits for `after` first.
struct Operation {
  std::string name;
  std::function<void()> run;
  std::vector<Point> after;
  uint64_t moment = 0;  // of Pieces, when it was queued
};

}  // namespace aorta::emulated

// What the handles point to. A handle is never given out twice, so that the use of one that was
// destroyed is seen.

struct CUstream_st {
  int device = 0;
  bool waits_for_legacy = false;  // a blocking stream: stream 0 and it wait for each other
  bool legacy = false;            // stream 0 itself
  bool destroyed = false;
  uint64_t queued = 0, done = 0;  // operations
  std::deque<aorta::emulated::Operation> operations;
  std::deque<uint64_t> marks;   // one for each operation: the thread sanitizer knows it by this
  std::deque<int64_t> done_ns;  // one for each that is done: when it was
  bool has_thread = false;
  std::condition_variable wake;                       // its thread may begin the next
  std::shared_ptr<aorta::emulated::Capture> capture;  // of what is queued now
  std::vector<size_t> last_nodes;                     // that what is captured next comes after
};

struct CUevent_st {
  int device = 0;
  unsigned flags = 0;
  bool destroyed = false;
  aorta::emulated::Point point;  // the last record; none: never recorded
  int64_t recorded_ns = 0;       // when that was
  // The last record, where that was captured.
  std::shared_ptr<aorta::emulated::Capture> capture;
  std::vector<size_t> nodes;
};

namespace aorta::emulated {

/// The streams of the machine and when their work is done: see `Mode`. Who calls holds the
/// machine's lock, but for what says otherwise.
class Streams {
 public:
  static Streams& get();

  CUstream_st* create(int device, bool waits_for_legacy);
  CUevent_st* create_event(int device, unsigned flags);
  /// The stream of a handle: stream 0 of `device` for null. Null for what is no stream.
  CUstream_st* find(cudaStream_t handle, int device);
  CUevent_st* find_event(cudaEvent_t handle);

  /// Queues work, or adds it to the graph that the stream's work becomes; what the call returns.
  cudaError_t queue(CUstream_st& stream, Operation operation);
  /// Stream 0 isn't used while a stream that waits for it is captured: an error, and that capture
  /// is invalid.
  cudaError_t forbidden_legacy_use(const CUstream_st& legacy);
  /// A device isn't waited for while a stream of it is captured: the same, in any mode.
  cudaError_t forbidden_device_wait(int device);
  /// The captures that go on.
  std::vector<std::shared_ptr<Capture>> captures() const;
  /// The stream's work comes after a captured event, and is captured too.
  cudaError_t join(CUstream_st& stream, const CUevent_st& event);
  void end(Capture& capture);
  /// Does what a point needs, and no more; with threads, waits for it.
  void finish(const Point& point);
  void finish_all(int device);
  bool is_done(const Point& point) const {
    return !point.stream || point.stream->done >= point.count;
  }
  /// Somebody looked at whether it is done: one operation is, so that who polls gets on.
  void step(const Point& point);
  /// When a recorded event happened, on the host's clock: with the work before it, or at once. Its
  /// point is done.
  int64_t time_of(const CUevent_st& event) const;
  /// The calling thread goes on after a point that is done.
  void follow(const Point& point);
  /// In random mode, what happens to be done between two calls.
  void drift();

  /// A fault of queued work: every later call returns it.
  cudaError_t sticky = cudaSuccess;
  // These take the machine's lock.

  /// Forgets the fault and all that is queued. For tests of the double.
  void reset();
  /// Finishes what is queued, and goes on in another mode. For tests.
  void set_mode(Mode mode);
  /// Ends the streams' threads: the process ends.
  void stop();

 private:
  void run_next(CUstream_st& stream);
  /// What no work that is queued will see.
  void forget_pieces();
  void start_thread(CUstream_st& stream);
  void work(CUstream_st& stream);
  /// Whether the stream's thread may begin what is next.
  bool may_begin(const CUstream_st& stream) const;
  /// Something was queued or is done: who waits for that is told, and nobody else.
  void wake();
  std::condition_variable done_;
  bool stopped_ = false;
  std::deque<CUstream_st> streams_;
  std::deque<CUevent_st> events_;
};

}  // namespace aorta::emulated
