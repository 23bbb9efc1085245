#include <aorta/core/recording.h>

#include <aorta/core/device_backend.h>
#include <aorta/core/empty.h>
#include <aorta/core/integers.h>
#include <aorta/core/written.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace aorta::kernel {
namespace {

thread_local constinit Recording* recording_of_thread = nullptr;
// What the step has written in place and is still there; null outside of a capture.
thread_local constinit std::unordered_set<Storage*>* written_by_thread = nullptr;

constexpr int64_t kNumbersBytes = 16 << 10;

Tensor page_locked(int64_t bytes) {
  return Tensor(Storage::allocate_pinned(bytes), DType::u8, {bytes}, {1}, 0);
}

}  // namespace

Recording* Recording::current() { return recording_of_thread; }

Recording::Scope::Scope(Recording& recording) {
  check(!recording_of_thread, "capture", "a step is captured by itself", "one within another");
  written_by_thread = new std::unordered_set<Storage*>;
  recording_of_thread = &recording;
}
Recording::Scope::~Scope() {
  const std::unique_ptr<const std::unordered_set<Storage*>> written(
      std::exchange(written_by_thread, nullptr));
  std::vector<Ref<Storage>> kept;
  for (Storage* const storage : *written) {
    storage->retain();
    kept.push_back(Ref<Storage>::adopt(storage));
  }
  std::exchange(recording_of_thread, nullptr)->before_launch([kept = std::move(kept)] {
    for (const Ref<Storage>& storage : kept) storage->bump_version();
  });
}

Recording::~Recording() {
  for (const auto& end : ends_) end();
  DeviceBackend& device = backend(device_.type);
  try {
    for (const Tensor& tensor : kept_) device.record_stream(tensor.storage()->data(), {device_});
  } catch (...) {  // a device that is lost
  }
}

// While one lives the thread is on a stream beside the one that is captured, and outside of the
// recording. What is written before a launch must lie in memory of such a stream: in the graph's
// own an earlier temporary may have lain, which each launch writes again.
class Recording::Aside {
 public:
  explicit Aside(Device device)
      : backend_(backend(device.type)),
        captured_(backend_.current_stream(device.index)),
        aside_(backend_.create_stream(device.index)),
        recording_(std::exchange(recording_of_thread, nullptr)) {
    backend_.set_current_stream(aside_);
  }
  ~Aside() {
    recording_of_thread = recording_;
    backend_.set_current_stream(captured_);
    backend_.destroy_stream(aside_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  DeviceBackend& backend_;
  const Stream captured_, aside_;
  Recording* const recording_;
};

Recording::Numbers& Recording::room_for(int64_t bytes) {
  if (numbers_.empty() || numbers_.back()->used + bytes > numbers_.back()->device.numel()) {
    const Aside aside(device_);
    const int64_t size = std::max(bytes, kNumbersBytes);
    auto numbers = std::make_unique<Numbers>();
    numbers->device = empty({size}, {.dtype = DType::u8, .device = device_});
    numbers->host.resize(static_cast<size_t>(size));
    numbers_.push_back(std::move(numbers));
  }
  return *numbers_.back();
}

const void* Recording::numbers(const void* now, int64_t bytes,
                               std::function<void(void* to)> renew) {
  const int64_t size = round_up(bytes, int64_t{16});
  Numbers& numbers = room_for(size);
  std::byte* const host = numbers.host.data() + numbers.used;
  const char* const device = static_cast<char*>(numbers.device.data()) + numbers.used;
  numbers.used += size;
  std::memcpy(host, now, static_cast<size_t>(bytes));
  renewals_.push_back([host, renew = std::move(renew)] { renew(host); });
  return device;
}

// Copied now and not by the graph.
Tensor Recording::constant(const Tensor& host) {
  const Aside aside(device_);
  constants_.push_back(empty(host.shape(), {.dtype = host.dtype(), .device = device_}));
  const Tensor& result = constants_.back();
  backend(device_.type).copy(result.data(), device_, host.data(), Device(), host.nbytes(), false);
  return result;
}

void Recording::before_launch(std::function<void()> action) {
  renewals_.push_back(std::move(action));
}

void Recording::undo() {
  for (; !undos_.empty(); undos_.pop_back()) undos_.back()();
}

void Recording::prepare_launch(bool first) {
  backend(device_.type).check_values(device_.index);
  if (!first) {
    for (const auto& renew : renewals_) renew();
  }
  send_numbers();
}

// Numbers that are as they were are there already.
void Recording::send_numbers() {
  for (const auto& numbers : numbers_) {
    if (numbers->sent == numbers->host) continue;
    const Tensor staged = page_locked(numbers->used);
    std::memcpy(staged.data(), numbers->host.data(), static_cast<size_t>(numbers->used));
    backend(device_.type)
        .copy(numbers->device.data(), device_, staged.data(), Device(), numbers->used, true);
    numbers->sent = numbers->host;
  }
}

void bump_written(const Tensor& tensor) {
  tensor.bump_version();
  if (written_by_thread) written_by_thread->insert(tensor.storage().get());
}

void forget_written(Storage& storage) {
  if (written_by_thread) written_by_thread->erase(&storage);
}

void refuse_in_capture(const char* op, const char* rule, const char* what) {
  if (recording_of_thread) fail(op, rule, what);
}

}  // namespace aorta::kernel
