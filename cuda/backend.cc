#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/dispatch/device_work.h>
#include <aorta/core/recording.h>
#include <aorta/cuda/allocator.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/beside_captures.h>
#include <aorta/cuda/captures.h>
#include <aorta/cuda/convolution_cudnn.h>
#include <aorta/cuda/first_bad.h>
#include <aorta/cuda/memory_driver.h>
#include <aorta/cuda/tool_ranges.h>
#include <aorta/cuda/wait.h>
#include <aorta/cuda/wait_range.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

namespace aorta::cuda {
namespace {

// What the process knows of one GPU. Never destroyed: tensors may outlive statics.
struct DeviceState {
  DeviceState(int device_index, const MemoryDriver& driver)
      : index(device_index), allocator("cuda:" + std::to_string(device_index), driver) {}
  const int index;
  cudaStream_t default_stream = nullptr;
  int multiprocessors = 0;
  StreamAllocator allocator;
  std::mutex mutex;
  std::vector<void*> idle_streams, idle_events, idle_timers;
};

std::atomic<DeviceState*> states[kMaxDevices];
thread_local constinit cudaStream_t streams_of_thread[kMaxDevices] = {};

int count_devices() {
  static const int count = [] {
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess) {
      cudaGetLastError();
      n = 0;
    }
    return n < kMaxDevices ? n : kMaxDevices;
  }();
  return count;
}

DeviceState* make_state(int device) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (DeviceState* known = states[device].load()) return known;
  const DeviceScope scope(device);
  auto state = std::make_unique<DeviceState>(device, device_memory_driver(device));
  check_cuda(
      cudaDeviceGetAttribute(&state->multiprocessors, cudaDevAttrMultiProcessorCount, device),
      "device");
  check_cuda(cudaStreamCreate(&state->default_stream), "device");  // last: nothing gives it back
  states[device].store(state.get());
  return state.release();
}

DeviceState& state_of(int device) {
  check(device >= 0 && device < count_devices(), "device", "the device must exist",
        Device(DeviceType::cuda, device), " of ", count_devices());
  DeviceState* state = states[device].load(std::memory_order_acquire);
  return state ? *state : *make_state(device);
}

StreamAllocator& pinned_allocator() {
  static StreamAllocator* allocator = new StreamAllocator("page-locked memory", pinned_driver());
  return *allocator;
}

// Pinned blocks belong to the host: to no stream. What streams do with them is recorded.
constexpr StreamKey kHost{.device = -1, .handle = nullptr};

cudaStream_t resolve(Stream stream) {
  return stream.handle ? static_cast<cudaStream_t>(stream.handle)
                       : cuda::current_stream(stream.device.index);
}

void refuse_wait_in_capture(const char* op) {
  kernel::refuse_in_capture(op, "a captured step must not wait for its device or the host's memory",
                            "a value or a copy of the host's");
}

bool is_page_locked(const void* data) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

class Backend final : public DeviceBackend {
 public:
  int device_count() override { return count_devices(); }
  int current_device() override { return current_device_index(); }
  void set_current_device(int index) override {
    state_of(index);
    check_cuda(cudaSetDevice(index), "device");
  }

  void* allocate(int64_t bytes, int index) override {
    return state_of(index).allocator.allocate(bytes, {index, cuda::current_stream(index)});
  }
  void deallocate(void* data, int64_t, int index) override {
    state_of(index).allocator.deallocate(data);
  }
  MemoryStats memory_stats(int index) override { return state_of(index).allocator.stats(); }
  void reset_peak_memory(int index) override { state_of(index).allocator.reset_peak(); }
  void record_stream(void* data, Stream stream) override;
  void empty_cache() override;

  void copy(void* destination, Device to, const void* source, Device from, int64_t bytes,
            bool non_blocking) override;
  void fill_bytes(void* destination, uint8_t value, int64_t bytes, int index) override;

  void* allocate_pinned(int64_t bytes) override {
    return pinned_allocator().allocate(bytes, kHost);
  }
  void deallocate_pinned(void* data, int64_t) override { pinned_allocator().deallocate(data); }
  void register_host(void* data, int64_t bytes) override {
    check_cuda(cudaHostRegister(data, static_cast<size_t>(bytes), cudaHostRegisterPortable),
               "register_host");
  }
  void unregister_host(void* data) override {
    check_cuda(cudaHostUnregister(data), "unregister_host");
  }

  bool begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  void launch_graph(Graph graph, Stream stream) override;
  void destroy_graph(Graph graph, Stream stream) override;

  DeviceLibrary convolution_library() override { return cudnn_state(); }

  Stream create_stream(int index) override;
  void destroy_stream(Stream stream) override;
  Stream current_stream(int index) override {
    return {cuda_device(index), cuda::current_stream(index)};
  }
  void set_current_stream(Stream stream) override;
  void synchronize_stream(Stream stream) override {
    refuse_wait_in_capture("synchronize");
    const WaitRange range("synchronize");
    const BesideCaptures beside;
    const cudaStream_t waited = resolve(stream);
    const NotedWait wait(stream.device.index, waited);
    check_cuda(cudaStreamSynchronize(waited), "synchronize");
    wait.over();
  }
  void synchronize_device(int index) override {
    state_of(index);
    refuse_wait_in_capture("synchronize");
    const WaitRange range("synchronize");
    const DeviceScope scope(index, "synchronize");
    const NotedWait wait(index, nullptr);
    Captures::of(index).when_over("synchronize",
                                  [] { check_cuda(cudaDeviceSynchronize(), "synchronize"); });
    wait.over();
  }
  void check_values(int index) override { throw_first_bad(index); }

  Event create_event(int index) override {
    return event_of(index, &DeviceState::idle_events, cudaEventDisableTiming);
  }
  void destroy_event(Event event) override { keep(event, &DeviceState::idle_events); }
  Event create_timer(int index) override {
    return event_of(index, &DeviceState::idle_timers, cudaEventDefault);
  }
  void begin_range(const char* name) override { begin_tool_range(name); }
  void end_range() override { end_tool_range(); }
  void destroy_timer(Event timer) override { keep(timer, &DeviceState::idle_timers); }
  int64_t nanoseconds_between(Event from, Event to) override {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(from.handle),
                                    static_cast<cudaEvent_t>(to.handle)),
               "profiler");
    return std::llround(static_cast<double>(milliseconds) * 1e6);
  }
  void record_event(Event event, Stream stream) override {
    const DeviceScope scope(stream.device.index, "record_event");
    check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(event.handle), resolve(stream)),
               "record_event");
  }
  void wait_event(Event event, Stream stream) override {
    check_cuda(cudaStreamWaitEvent(resolve(stream), static_cast<cudaEvent_t>(event.handle), 0),
               "wait_event");
  }
  bool event_done(Event event) override {
    const BesideCaptures beside;
    const cudaError_t state = cudaEventQuery(static_cast<cudaEvent_t>(event.handle));
    if (state == cudaErrorNotReady) return false;  // and no error that is left
    check_cuda(state, "event_done");
    return true;
  }

 private:
  using Pool = std::vector<void*> DeviceState::*;
  static Event event_of(int index, Pool idle, unsigned flags);
  static void keep(Event event, Pool idle);
  static Device cuda_device(int index) { return Device(DeviceType::cuda, index); }
  void copy_between_devices(void* destination, int to, const void* source, int from, int64_t bytes);
  void queue_between_devices(void* destination, int to, const void* source, int from, int64_t bytes,
                             cudaStream_t source_stream);
};

void Backend::record_stream(void* data, Stream stream) {
  if (!data) return;
  const StreamKey key{stream.device.index, resolve(stream)};
  if (pinned_allocator().record_stream(data, key)) return;
  for (int i = 0; i < count_devices(); ++i) {
    DeviceState* state = states[i].load(std::memory_order_acquire);
    if (state && state->allocator.record_stream(data, key)) return;
  }
  fail("record_stream", "the memory must come from Aorta's allocator", "another pointer");
}

void Backend::empty_cache() {
  const CalledOp called("empty_cache");
  for (std::atomic<DeviceState*>& entry : states) {
    DeviceState* state = entry.load(std::memory_order_acquire);
    if (!state) continue;
    const DeviceScope scope(state->index, "empty_cache");
    state->allocator.empty_cache();
  }
  pinned_allocator().empty_cache();
}

void Backend::copy(void* destination, Device to, const void* source, Device from, int64_t bytes,
                   bool non_blocking) {
  if (bytes <= 0) return;
  if (to.is_cuda() && from.is_cuda() && to.index != from.index) {
    return copy_between_devices(destination, to.index, source, from.index, bytes);
  }
  const int device = to.is_cuda() ? to.index : from.index;
  if (!to.is_cuda() || !from.is_cuda()) refuse_wait_in_capture("copy");
  const DeviceScope scope(device, "copy");
  const cudaStream_t stream = cuda::current_stream(device);
  {
    const DeviceWork work("copy", DeviceType::cuda, stream);
    check_cuda(
        cudaMemcpyAsync(destination, source, static_cast<size_t>(bytes), cudaMemcpyDefault, stream),
        "copy");
  }
  if (to.is_cuda() && from.is_cuda()) return;
  const void* host = to.is_cuda() ? source : destination;
  if (non_blocking && is_page_locked(host)) {
    // Ours isn't given out again before the copy is done; other locked memory is its owner's care.
    pinned_allocator().record_stream(host, {device, stream});
    return;
  }
  try {
    wait_for_copy(device, stream, "copy");
  } catch (...) {
    pinned_allocator().record_stream(host, {device, stream});
    throw;
  }
}

// Where it fails, the copy may be queued, and the destination's stream doesn't wait for it: freed,
// the destination rests until the source's stream is past it.
void Backend::copy_between_devices(void* destination, int to, const void* source, int from,
                                   int64_t bytes) {
  const CalledOp called("copy");
  const cudaStream_t source_stream = cuda::current_stream(from);
  try {
    queue_between_devices(destination, to, source, from, bytes, source_stream);
  } catch (...) {
    state_of(to).allocator.record_stream(destination, {from, source_stream});
    throw;
  }
}

// Queued on the source's stream: it starts when the destination's earlier work is done, and the
// destination's later work waits for it.
void Backend::queue_between_devices(void* destination, int to, const void* source, int from,
                                    int64_t bytes, cudaStream_t source_stream) {
  const cudaStream_t destination_stream = cuda::current_stream(to);
  const OwnedEvent ready(to), done(from);
  record_event(ready.get(), {cuda_device(to), destination_stream});
  wait_event(ready.get(), {cuda_device(from), source_stream});
  const DeviceScope scope(from);
  {
    const DeviceWork work("copy", DeviceType::cuda, source_stream);
    check_cuda(cudaMemcpyPeerAsync(destination, to, source, from, static_cast<size_t>(bytes),
                                   source_stream),
               "copy");
  }
  record_event(done.get(), {cuda_device(from), source_stream});
  wait_event(done.get(), {cuda_device(to), destination_stream});
}

void Backend::fill_bytes(void* destination, uint8_t value, int64_t bytes, int index) {
  if (bytes <= 0) return;
  const DeviceScope scope(index, "fill_");
  const cudaStream_t stream = cuda::current_stream(index);
  const DeviceWork work("fill_", DeviceType::cuda, stream);
  check_cuda(cudaMemsetAsync(destination, value, static_cast<size_t>(bytes), stream), "fill_");
}

// Streams and events are kept and given out again: a handle that some block of memory remembers
// stays a stream, and creation is slow.
Stream Backend::create_stream(int index) {
  DeviceState& state = state_of(index);
  std::lock_guard lock(state.mutex);
  if (!state.idle_streams.empty()) {
    void* handle = state.idle_streams.back();
    state.idle_streams.pop_back();
    return {cuda_device(index), handle};
  }
  const DeviceScope scope(index, "create_stream");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create_stream");
  return {cuda_device(index), stream};
}

void Backend::destroy_stream(Stream stream) {
  DeviceState& state = state_of(stream.device.index);
  if (!stream.handle || stream.handle == state.default_stream) return;
  if (streams_of_thread[state.index] == stream.handle) streams_of_thread[state.index] = nullptr;
  std::lock_guard lock(state.mutex);
  state.idle_streams.push_back(stream.handle);
}

void Backend::set_current_stream(Stream stream) {
  state_of(stream.device.index);
  streams_of_thread[stream.device.index] = static_cast<cudaStream_t>(stream.handle);
}

// Relaxed: memory may be asked for, and other threads go on.
bool Backend::begin_capture(Stream stream) {
  if (synchronous_launches()) return false;
  DeviceState& state = state_of(stream.device.index);
  const DeviceScope scope(state.index, "capture");
  state.allocator.hold({state.index, stream.handle});
  Captures::of(state.index).begin([stream] {
    check_cuda(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream.handle),
                                      cudaStreamCaptureModeRelaxed),
               "capture");
  });
  return true;
}

Graph Backend::end_capture(Stream stream) {
  const cudaStream_t captured = static_cast<cudaStream_t>(stream.handle);
  cudaGraph_t graph = nullptr;
  cudaError_t error = cudaStreamEndCapture(captured, &graph);
  // The stream is used again: it can't stay captured.
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (!succeeded(error) && succeeded(cudaStreamIsCapturing(captured, &status)) &&
      status != cudaStreamCaptureStatusNone)
    error = cudaStreamEndCapture(captured, &graph);
  Captures::of(stream.device.index).end();
  check_cuda(error, "capture");
  struct Destroyed {
    cudaGraph_t graph;
    ~Destroyed() { succeeded(cudaGraphDestroy(graph)); }
  };
  const Destroyed at_the_end{graph};
  // Not before: where the device can't be asked or made current, the capture has ended all the
  // same.
  const DeviceScope scope(stream.device.index, "capture");
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaGraphInstantiate(&exec, graph, 0), "capture");
  return {stream.device, exec};
}

void Backend::launch_graph(Graph graph, Stream stream) {
  const DeviceScope scope(graph.device.index, "capture");
  const cudaStream_t on = resolve(stream);
  const DeviceWork work("captured step", DeviceType::cuda, on);
  check_cuda(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.handle), on), "capture");
}

void Backend::destroy_graph(Graph graph, Stream stream) {
  if (graph.handle) succeeded(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph.handle)));
  state_of(stream.device.index).allocator.release({stream.device.index, stream.handle});
}

Event Backend::event_of(int index, Pool idle, unsigned flags) {
  DeviceState& state = state_of(index);
  std::lock_guard lock(state.mutex);
  if (std::vector<void*>& kept = state.*idle; !kept.empty()) {
    void* handle = kept.back();
    kept.pop_back();
    return {cuda_device(index), handle};
  }
  const DeviceScope scope(index, "create_event");
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, flags), "create_event");
  return {cuda_device(index), event};
}

void Backend::keep(Event event, Pool idle) {
  if (!event.handle) return;
  DeviceState& state = state_of(event.device.index);
  std::lock_guard lock(state.mutex);
  (state.*idle).push_back(event.handle);
}

}  // namespace

Captures& Captures::of(int device) {
  static Captures* const all = new Captures[kMaxDevices];
  return all[device];
}

int current_device_index(const char* op) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), op);
  return device;
}

cudaStream_t current_stream(int device) {
  const cudaStream_t chosen = streams_of_thread[device];
  return chosen ? chosen : state_of(device).default_stream;
}

int device_of(const void* data) {
  cudaPointerAttributes attributes;
  check_cuda(cudaPointerGetAttributes(&attributes, data), "device");
  check(attributes.type != cudaMemoryTypeUnregistered, "device",
        "a kernel's memory must be one that a device can use", "the host's own or freed memory");
  return attributes.device;
}

void wait_for_copy(int device, cudaStream_t stream, const char* op) {
  refuse_wait_in_capture(op);
  const WaitRange range(op);
  const BesideCaptures beside;
  const NotedWait wait(device, stream);
  const cudaError_t error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) cudaDeviceSynchronize();
  check_cuda(error, op);
  wait.over();
  throw_first_bad(device);
}

int multiprocessor_count(int device) { return state_of(device).multiprocessors; }

Workspace::Workspace(int64_t bytes, int device)
    : data_(cuda_backend().allocate(bytes, device)), device_(device) {}
Workspace::~Workspace() { cuda_backend().deallocate(data_, 0, device_); }

DeviceBackend& cuda_backend() {
  static Backend* backend = new Backend;
  return *backend;
}

}  // namespace aorta::cuda
