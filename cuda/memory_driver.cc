#include <aorta/cuda/backend.h>
#include <aorta/cuda/beside_captures.h>
#include <aorta/cuda/captures.h>
#include <aorta/cuda/memory_driver.h>
#include <aorta/cuda/memory_marks.h>
#include <aorta/cuda/wait_range.h>

namespace aorta::cuda {
namespace {

int device_from(void* context) { return static_cast<int>(reinterpret_cast<intptr_t>(context)); }

// "No more memory" is an answer; everything else is an error.
template <class Allocate>
void* pointer_or_null(const char* op, int64_t bytes, const Allocate& allocate) {
  void* data = nullptr;
  const cudaError_t error = allocate(&data);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check_cuda(error, op);
  mark_heap(data, bytes);
  return data;
}

void* allocate_device(void* context, int64_t bytes) {
  const DeviceScope scope(device_from(context), "allocate");
  return pointer_or_null("allocate", bytes,
                         [&](void** data) { return cudaMalloc(data, static_cast<size_t>(bytes)); });
}

int64_t free_device_bytes(void* context) {
  const DeviceScope scope(device_from(context));
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  return static_cast<int64_t>(free);
}

void* allocate_host(void*, int64_t bytes) {
  return pointer_or_null("pin_memory", bytes, [&](void** data) {
    return cudaHostAlloc(data, static_cast<size_t>(bytes), cudaHostAllocPortable);
  });
}

int64_t free_host_bytes(void*) { return 0; }

// What follows is called when memory is freed, in destructors too: nothing throws. A call may fail
// while a graph is captured, after a fault, or when CUDA is shutting down, and none of these says
// that a stream's work is done.

/// Calls `work` while a device is current; false when that can't be.
template <class Work>
bool on_device(int device, const Work& work) {
  int previous = 0;
  if (!succeeded(cudaGetDevice(&previous)) || !succeeded(cudaSetDevice(device))) return false;
  const bool done = work();
  succeeded(cudaSetDevice(previous));
  return done;
}

/// Frees a heap by `call`; where that fails it stays one.
bool free_heap(void* data, cudaError_t (*call)(void*)) {
  const int64_t bytes = unmark_heap(data);
  if (succeeded(call(data))) return true;
  if (bytes > 0) mark_heap(data, bytes);
  return false;
}

// cudaFree "may perform implicit synchronization", so it need not; and the block's own stream may
// have work on it still, or wait for another device's copy into it. While a step is captured there
// it stays.
bool free_device(void* context, void* data) {
  const int device = device_from(context);
  const WaitRange range("allocate");
  return on_device(device, [&] {
    return Captures::of(device).unless_running(
        [&] { return succeeded(cudaDeviceSynchronize()) && free_heap(data, cudaFree); });
  });
}

bool free_host(void*, void* data) { return free_heap(data, cudaFreeHost); }

// What is captured isn't queued, and an event there is the graph's: it is never done, and a query
// of it ends the capture. So the mark is made when the capture is over, whichever way it ended.
void* record_event(void*, StreamKey stream) {
  cudaEvent_t event = nullptr;
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  if (!succeeded(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream.handle), &captured)) ||
      captured != cudaStreamCaptureStatusNone)
    return nullptr;
  on_device(stream.device, [&] {
    if (!succeeded(cudaEventCreateWithFlags(&event, cudaEventDisableTiming))) return false;
    if (succeeded(cudaEventRecord(event, static_cast<cudaStream_t>(stream.handle)))) return true;
    succeeded(cudaEventDestroy(event));
    event = nullptr;
    return false;
  });
  return event;
}

bool event_done(void*, void* event) {
  const BesideCaptures beside;
  return beside && succeeded(cudaEventQuery(static_cast<cudaEvent_t>(event)));
}

bool wait_event(void*, void* event) {
  const WaitRange range("allocate");
  const BesideCaptures beside;
  return beside && succeeded(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
}

void destroy_event(void*, void* event) {
  succeeded(cudaEventDestroy(static_cast<cudaEvent_t>(event)));
}

void lent(void*, const void* from, const void* data, int64_t bytes) {
  mark_lent(from, data, bytes);
}

void returned(void*, const void* from, const void* data) { mark_returned(from, data); }

}  // namespace

MemoryDriver device_memory_driver(int device) {
  return {.context = reinterpret_cast<void*>(static_cast<intptr_t>(device)),
          .allocate = allocate_device,
          .free = free_device,
          .free_bytes = free_device_bytes,
          .record_event = record_event,
          .event_done = event_done,
          .wait_event = wait_event,
          .destroy_event = destroy_event,
          .lent = lent,
          .returned = returned};
}

MemoryDriver pinned_driver() {
  return {.context = nullptr,
          .allocate = allocate_host,
          .free = free_host,
          .free_bytes = free_host_bytes,
          .record_event = record_event,
          .event_done = event_done,
          .wait_event = wait_event,
          .destroy_event = destroy_event,
          .lent = lent,
          .returned = returned};
}

}  // namespace aorta::cuda
