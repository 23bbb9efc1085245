#include <aorta/core/allocator.h>
#include <aorta/core/device_backend.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <mutex>

namespace aorta {
namespace {

thread_local constinit int current_cpu = 0;

// A device of this process, whose work is done when a call returns: streams and events are empty.
class HostBackend : public DeviceBackend {
 public:
  explicit HostBackend(DeviceType type) : type_(type) {}

  void record_stream(void*, Stream) override {}
  void* allocate_pinned(int64_t) override {
    fail("pin_memory", "page-locked memory needs a CUDA device", "none");
  }
  void deallocate_pinned(void*, int64_t) override {}
  void register_host(void*, int64_t) override {}
  void unregister_host(void*) override {}

  Stream create_stream(int index) override { return current_stream(index); }
  void destroy_stream(Stream) override {}
  Stream current_stream(int index) override { return {Device(type_, index)}; }
  void set_current_stream(Stream) override {}
  void synchronize_stream(Stream) override {}
  void synchronize_device(int) override {}
  Event create_event(int index) override { return {Device(type_, index)}; }
  void destroy_event(Event) override {}
  void record_event(Event, Stream) override {}
  void wait_event(Event, Stream) override {}
  bool event_done(Event) override { return true; }

 private:
  const DeviceType type_;
};

// Host memory, and logical devices that share it.
class CpuBackend final : public HostBackend {
 public:
  CpuBackend() : HostBackend(DeviceType::cpu) {}

  int device_count() override { return kLogicalCpus; }
  int current_device() override { return current_cpu; }
  void set_current_device(int index) override { current_cpu = index; }

  void* allocate(int64_t bytes, int) override { return cpu::allocate(bytes); }
  void deallocate(void* data, int64_t bytes, int) override { cpu::deallocate(data, bytes); }
  MemoryStats memory_stats(int) override {
    const cpu::AllocatorStats stats = cpu::allocator_stats();
    return {stats.bytes_in_use, stats.bytes_cached, stats.peak_bytes, stats.system_calls};
  }
  void reset_peak_memory(int) override { cpu::reset_peak_bytes(); }
  void empty_cache() override { cpu::empty_cache(); }

  void copy(void* destination, Device, const void* source, Device, int64_t bytes, bool) override {
    if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
  }
  void fill_bytes(void* destination, uint8_t value, int64_t bytes, int) override {
    if (bytes > 0) std::memset(destination, value, static_cast<size_t>(bytes));
  }
};

// Addresses that no program can have, each given out once: tensors tell by them what they share.
class MetaBackend final : public HostBackend {
 public:
  MetaBackend() : HostBackend(DeviceType::meta) {}

  int device_count() override { return 1; }
  int current_device() override { return 0; }
  void set_current_device(int) override {}

  void* allocate(int64_t bytes, int) override {
    const int64_t size = rounded(bytes);
    const int64_t used = used_ += size;
    int64_t peak = peak_;
    while (used > peak && !peak_.compare_exchange_weak(peak, used)) {
    }
    return reinterpret_cast<void*>(next_.fetch_add(static_cast<uintptr_t>(size)));
  }
  void deallocate(void*, int64_t bytes, int) override { used_ -= rounded(bytes); }
  MemoryStats memory_stats(int) override { return {used_, 0, peak_, 0}; }
  void reset_peak_memory(int) override { peak_ = used_.load(); }
  void empty_cache() override {}

  void copy(void*, Device to, const void*, Device from, int64_t, bool) override {
    check(!from.is_meta() || to.is_meta(), "copy", "a tensor on meta has no values", from);
  }
  void fill_bytes(void*, uint8_t, int64_t, int) override {}

 private:
  static int64_t rounded(int64_t bytes) { return (std::max<int64_t>(bytes, 1) + 63) / 64 * 64; }

  std::atomic<int64_t> used_ = 0, peak_ = 0;
  std::atomic<uintptr_t> next_ = uintptr_t{1} << 47;
};

constexpr const char* kNoGraphs = "a graph needs a CUDA device";

CpuBackend cpu_backend;
MetaBackend meta_backend;
DeviceBackend* cuda_backend = nullptr;
std::string cuda_reason;
std::string refusal;  // written before other threads exist

}  // namespace

bool DeviceBackend::begin_capture(Stream stream) { fail("capture", kNoGraphs, stream.device); }
Graph DeviceBackend::end_capture(Stream stream) { fail("capture", kNoGraphs, stream.device); }
void DeviceBackend::launch_graph(Graph graph, Stream) { fail("capture", kNoGraphs, graph.device); }
void DeviceBackend::destroy_graph(Graph, Stream) {}

Device::Device(DeviceType device_type)
    : Device(device_type, device_type == DeviceType::cuda && cuda::is_available()
                              ? current_device(device_type).index
                              : 0) {}

Device Device::named(std::string_view name) {
  if (name == "meta") return DeviceType::meta;
  const size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  check(kind == "cpu" || kind == "cuda", "device", "cpu, cpu:N, cuda, cuda:N or meta", name);
  const DeviceType type = kind == "cuda" ? DeviceType::cuda : DeviceType::cpu;
  if (colon == std::string_view::npos) return type;
  const std::string_view digits = name.substr(colon + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  check(!digits.empty() && error == std::errc() && end == digits.data() + digits.size() &&
            number >= 0,
        "device", "cpu, cpu:N, cuda, cuda:N or meta", name);
  check(number < kLogicalCpus, "device", "the index must be below 64", name);
  return {type, number};
}

std::string to_string(Device device) {
  if (device.is_meta()) return "meta";
  std::string text = device.is_cpu() ? "cpu" : "cuda";
  if (device.is_cuda() || device.index != 0) {
    text += ':';
    detail::append(text, int64_t{device.index});
  }
  return text;
}

void register_backend(DeviceType type, DeviceBackend* backend) {
  check(type == DeviceType::cuda, "register_backend", "the other backends are core's own",
        Device(type, 0));
  cuda_backend = backend;
}

DeviceBackend* loaded_backend(DeviceType type) {
  return type == DeviceType::cuda ? cuda_backend : nullptr;
}

namespace detail {
/// Loads the CUDA plugin once; returns why it can't be used, or nothing.
std::string load_cuda_plugin();
}  // namespace detail

namespace {
const std::string& cuda_state() {
  if (!refusal.empty()) return refusal;
  static std::once_flag once;
  std::call_once(once, [] {
    if (!cuda_backend) cuda_reason = detail::load_cuda_plugin();
    if (cuda_reason.empty() && !cuda_backend) cuda_reason = "the plugin registered no backend";
    if (cuda_reason.empty() && cuda_backend->device_count() == 0) cuda_reason = "there is no GPU";
  });
  return cuda_reason;
}
}  // namespace

void refuse_devices(const char* reason) { refusal = reason; }

DeviceBackend& backend(DeviceType type) {
  if (type == DeviceType::cpu) return cpu_backend;
  if (type == DeviceType::meta) return meta_backend;
  const std::string& reason = cuda_state();
  check(reason.empty(), "cuda", "the device must be available", reason);
  return *cuda_backend;
}

int device_count(DeviceType type) {
  return type == DeviceType::cuda ? cuda::device_count() : backend(type).device_count();
}

Device current_device(DeviceType type) { return Device(type, backend(type).current_device()); }

void synchronize(Device device) {
  backend(device.type).synchronize_device(device.index);
  backend(device.type).check_values(device.index);
}

DeviceGuard::DeviceGuard(Device device) : previous_(current_device(device.type)) {
  check(device.index >= 0 && device.index < device_count(device.type), "device",
        "the device must exist", device);
  backend(device.type).set_current_device(device.index);
}

// A device that can't be made current again is lost, which the next call on it says.
DeviceGuard::~DeviceGuard() {
  try {
    backend(previous_.type).set_current_device(previous_.index);
  } catch (...) {
  }
}

namespace cuda {

bool is_available() { return cuda_state().empty(); }
int device_count() { return is_available() ? cuda_backend->device_count() : 0; }
std::string unavailable_reason() { return cuda_state(); }

}  // namespace cuda
}  // namespace aorta
