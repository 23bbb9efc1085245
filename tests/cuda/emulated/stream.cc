#include <aorta/core/clock.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/pieces.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace aorta::emulated {

namespace {

/// What this thread did so far comes before what follows the mark.
void release(uint64_t& mark) {
  if (!under_thread_sanitizer()) return;
  const Seen seen;
  __tsan_release(&mark);
}

cudaError_t add_node(CUstream_st& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  capture.nodes.push_back({std::move(operation.name), std::move(operation.run), stream.last_nodes});
  stream.last_nodes = {capture.nodes.size() - 1};
  return cudaSuccess;
}

void pause(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  lock.lock();
}

}  // namespace

Streams& Streams::get() {
  static Streams* streams = new Streams;
  return *streams;
}

CUstream_st* Streams::create(int device, bool waits_for_legacy) {
  CUstream_st& stream = streams_.emplace_back();
  stream.device = device;
  stream.waits_for_legacy = waits_for_legacy;
  return &stream;
}

CUevent_st* Streams::create_event(int device, unsigned flags) {
  CUevent_st& event = events_.emplace_back();
  event.device = device;
  event.flags = flags;
  return &event;
}

CUstream_st* Streams::find(cudaStream_t handle, int device) {
  for (CUstream_st& stream : streams_) {
    if (handle ? &stream == handle : stream.legacy && stream.device == device) return &stream;
  }
  if (handle) return nullptr;
  CUstream_st* legacy = create(device, false);
  legacy->legacy = true;
  return legacy;
}

CUevent_st* Streams::find_event(cudaEvent_t handle) {
  for (CUevent_st& event : events_) {
    if (&event == handle) return &event;
  }
  return nullptr;
}

// CUDA Runtime API, "Stream synchronization behavior": stream 0 and the blocking streams of its
// device wait for each other's earlier work; streams made with cudaStreamNonBlocking don't.
cudaError_t Streams::queue(CUstream_st& stream, Operation operation) {
  if (stream.capture) return add_node(stream, std::move(operation));
  if (stream.legacy) {
    if (const cudaError_t error = forbidden_legacy_use(stream); error != cudaSuccess) return error;
  }
  for (CUstream_st& other : streams_) {
    const bool ordered =
        other.device == stream.device &&
        ((stream.legacy && other.waits_for_legacy) || (stream.waits_for_legacy && other.legacy));
    // Also what is done by now: the thread sanitizer knows the order by it.
    if (ordered && other.queued > 0) operation.after.push_back({&other, other.queued});
  }
  operation.moment = Pieces::get().now();
  stream.operations.push_back(std::move(operation));
  stream.marks.push_back(0);
  ++stream.queued;
  release(stream.marks.back());
  if (settings().mode == Mode::threads) start_thread(stream);
  if (settings().mode == Mode::eager) finish({&stream, stream.queued});
  drift();
  return sticky;
}

// CUDA C++ Programming Guide, "Prohibited and Unhandled Operations": both.
cudaError_t Streams::forbidden_legacy_use(const CUstream_st& legacy) {
  for (CUstream_st& other : streams_) {
    if (other.device == legacy.device && other.waits_for_legacy && other.capture) {
      return other.capture->invalidate(cudaErrorStreamCaptureImplicit);
    }
  }
  return cudaSuccess;
}

cudaError_t Streams::forbidden_device_wait(int device) {
  cudaError_t error = cudaSuccess;
  for (CUstream_st& stream : streams_) {
    if (stream.device != device || !stream.capture) continue;
    error = stream.capture->invalidate(cudaErrorStreamCaptureUnsupported);
  }
  return error;
}

std::vector<std::shared_ptr<Capture>> Streams::captures() const {
  std::vector<std::shared_ptr<Capture>> found;
  for (const CUstream_st& stream : streams_) {
    if (stream.capture && stream.capture->origin == &stream) found.push_back(stream.capture);
  }
  return found;
}

cudaError_t Streams::join(CUstream_st& stream, const CUevent_st& event) {
  Capture& capture = *event.capture;
  if (!capture.active) return cudaErrorInvalidValue;
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalidate(cudaErrorStreamCaptureMerge);
    return capture.invalidate(cudaErrorStreamCaptureMerge);
  }
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  if (!stream.capture) stream.last_nodes.clear();
  stream.capture = event.capture;
  stream.last_nodes.insert(stream.last_nodes.end(), event.nodes.begin(), event.nodes.end());
  return cudaSuccess;
}

void Streams::end(Capture& capture) {
  capture.active = false;
  for (CUstream_st& stream : streams_) {
    if (stream.capture.get() == &capture) stream.capture = nullptr;
  }
}

void Streams::run_next(CUstream_st& stream) {
  Operation operation = std::move(stream.operations.front());
  stream.operations.pop_front();
  for (const Point& point : operation.after) finish(point);
  const Point mine{&stream, stream.done + 1};
  follow(mine);  // the thread that queued it, so far
  if (operation.run && sticky == cudaSuccess) {
    const DeviceAccess access;
    Pieces::get().show(operation.moment);
    const Seen seen;
    operation.run();
  }
  release(stream.marks[stream.done]);
  stream.done_ns.push_back(nanoseconds_now());
  ++stream.done;
  if (Pieces::get().remembers_much()) forget_pieces();
}

void Streams::forget_pieces() {
  uint64_t oldest = Pieces::get().now();
  for (const CUstream_st& stream : streams_) {
    if (!stream.operations.empty()) oldest = std::min(oldest, stream.operations.front().moment);
  }
  Pieces::get().forget(oldest);
}

void Streams::finish(const Point& point) {
  if (settings().mode == Mode::threads) {
    std::unique_lock lock(machine_mutex(), std::adopt_lock);
    done_.wait(lock, [&] { return is_done(point); });
    lock.release();
  } else if (!is_done(point)) {
    const DeviceAccess access;  // opened once for all that follows
    while (!is_done(point)) run_next(*point.stream);
  }
  follow(point);
}

int64_t Streams::time_of(const CUevent_st& event) const {
  const Point& point = event.point;
  const bool at_once = !point.stream || point.count == 0;
  return at_once ? event.recorded_ns
                 : std::max(event.recorded_ns, point.stream->done_ns[point.count - 1]);
}

void Streams::follow(const Point& point) {
  if (!point.stream || point.count == 0 || !under_thread_sanitizer()) return;
  const Seen seen;
  __tsan_acquire(&point.stream->marks[point.count - 1]);
}

void Streams::start_thread(CUstream_st& stream) {
  if (may_begin(stream)) stream.wake.notify_one();
  if (stream.has_thread) return;
  stream.has_thread = true;
  std::thread([this, &stream] { work(stream); }).detach();
}

bool Streams::may_begin(const CUstream_st& stream) const {
  if (settings().mode != Mode::threads || stream.operations.empty()) return false;
  const std::vector<Point>& after = stream.operations.front().after;
  return std::all_of(after.begin(), after.end(), [&](const Point& p) { return is_done(p); });
}

void Streams::wake() {
  done_.notify_all();
  for (CUstream_st& stream : streams_) {
    if (stream.has_thread && (stopped_ || may_begin(stream))) stream.wake.notify_one();
  }
}

// A stream's own thread. Now and then it comes late, so that what doesn't wait for it goes wrong.
void Streams::work(CUstream_st& stream) {
  const Unseen unseen;
  std::unique_lock lock(machine_mutex());
  while (!stopped_) {
    stream.wake.wait(lock, [&] { return stopped_ || may_begin(stream); });
    if (random_below(4) == 0) pause(lock);
    if (stopped_ || !may_begin(stream)) continue;
    run_next(stream);
    wake();
  }
}

void Streams::stop() {
  const MachineLock lock;
  stopped_ = true;
  wake();
}

// The youngest stream first: work that another stream waits for is then done because of that wait.
void Streams::finish_all(int device) {
  for (size_t i = streams_.size(); i-- > 0;) {
    CUstream_st& stream = streams_[i];
    if (stream.device == device) finish({&stream, stream.queued});
  }
}

void Streams::step(const Point& point) {
  if (is_done(point)) return;
  if (settings().mode != Mode::threads) return run_next(*point.stream);
  std::unique_lock lock(machine_mutex(), std::adopt_lock);
  pause(lock);
  lock.release();
}

void Streams::drift() {
  if (settings().mode != Mode::random || streams_.empty()) return;
  for (uint64_t rounds = random_below(4); rounds > 0; --rounds) {
    CUstream_st& stream = streams_[random_below(streams_.size())];
    for (uint64_t i = random_below(4); i > 0 && stream.done < stream.queued; --i) run_next(stream);
  }
}

void Streams::set_mode(Mode mode) {
  const MachineLock lock;
  for (CUstream_st& stream : streams_) finish({&stream, stream.queued});
  settings().mode = mode;
}

void Streams::reset() {
  const MachineLock lock;
  sticky = cudaSuccess;
  for (CUstream_st& stream : streams_) {
    if (stream.capture) end(*stream.capture);
    stream.operations.clear();
    stream.done = stream.queued;
    stream.done_ns.resize(stream.done, nanoseconds_now());
  }
  wake();
}

}  // namespace aorta::emulated
