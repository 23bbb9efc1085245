#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <algorithm>

namespace aorta::emulated {

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
void Streams::queue(CUstream_st& stream, Operation operation) {
  for (CUstream_st& other : streams_) {
    const bool ordered =
        other.device == stream.device &&
        ((stream.legacy && other.waits_for_legacy) || (stream.waits_for_legacy && other.legacy));
    if (ordered && other.done < other.queued) operation.after.push_back({&other, other.queued});
  }
  stream.operations.push_back(std::move(operation));
  ++stream.queued;
  if (settings().mode == Mode::eager) finish({&stream, stream.queued});
  drift();
}

void Streams::run_next(CUstream_st& stream) {
  Operation operation = std::move(stream.operations.front());
  stream.operations.pop_front();
  for (const Point& point : operation.after) finish(point);
  if (operation.run && sticky == cudaSuccess) {
    const DeviceAccess access;
    operation.run();
  }
  ++stream.done;
}

void Streams::finish(const Point& point) {
  if (is_done(point)) return;
  const DeviceAccess access;  // opened once for all that follows
  while (!is_done(point)) run_next(*point.stream);
}

// The youngest stream first: work that another stream waits for is then done because of that wait.
void Streams::finish_all(int device) {
  for (size_t i = streams_.size(); i-- > 0;) {
    CUstream_st& stream = streams_[i];
    if (stream.device == device) finish({&stream, stream.queued});
  }
}

void Streams::step(const Point& point) {
  if (!is_done(point)) run_next(*point.stream);
}

void Streams::drift() {
  if (settings().mode != Mode::random || streams_.empty()) return;
  for (uint64_t rounds = random_below(4); rounds > 0; --rounds) {
    CUstream_st& stream = streams_[random_below(streams_.size())];
    for (uint64_t i = random_below(4); i > 0 && stream.done < stream.queued; --i) run_next(stream);
  }
}

void Streams::reset() {
  sticky = cudaSuccess;
  for (CUstream_st& stream : streams_) {
    stream.operations.clear();
    stream.done = stream.queued;
  }
}

}  // namespace aorta::emulated
