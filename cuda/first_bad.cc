#include <aorta/cuda/first_bad.h>

#include <aorta/core/called_op.h>
#include <aorta/core/check.h>
#include <aorta/core/module_path.h>
#include <aorta/core/recording.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/beside_captures.h>
#include <aorta/cuda/wait.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace aorta::cuda {
namespace {

constexpr unsigned long long kNone = ~0ull;
constexpr int kPlaces = 1024;  // ops of a device that nobody has waited for yet

unsigned long long found_at(unsigned long long* place) {
  return std::atomic_ref(*place).load(std::memory_order_acquire);
}

/// The places of one device's ops. Never destroyed, as the device's memory.
class Places {
 public:
  static Places& of(int device) {
    static Places* const all = new Places[kMaxDevices];
    return all[device];
  }

  /// For one call.
  unsigned long long* take(const char* op, int device, cudaStream_t stream) {
    if (!any_left()) wait_for_copy(device, stream, op);
    if (!any_left()) cuda_backend().synchronize_device(device);
    return note({.op = op, .stream = stream});
  }
  /// For the launches of a captured step.
  unsigned long long* take(const char* op, kernel::Recording& recording) {
    unsigned long long* const place = note({.op = op, .captured = true});
    recording.at_end([this, place] { let_go(place); });
    return place;
  }

  void give_back(unsigned long long* place) {
    const std::lock_guard lock(mutex_);
    std::erase_if(noted_, [&](const Noted& noted) { return noted.place == place; });
    release(place);
  }

  /// The kernels of a place are queued.
  void note_queued(unsigned long long* place) {
    const std::lock_guard lock(mutex_);
    const auto noted = std::find_if(noted_.rbegin(), noted_.rend(),
                                    [&](const Noted& one) { return one.place == place; });
    if (noted != noted_.rend()) noted->queued = ++queued_;
  }
  uint64_t queued() {
    const std::lock_guard lock(mutex_);
    return queued_;
  }
  /// What was queued on `stream` as one of the first `until` is done.
  void note_done(cudaStream_t stream, uint64_t until) {
    const std::lock_guard lock(mutex_);
    std::erase_if(noted_, [&](const Noted& noted) {
      if (noted.captured || (stream && noted.stream != stream)) return false;
      if (noted.queued == 0 || noted.queued > until) return false;
      if (found_at(noted.place) != kNone) return false;
      release(noted.place);
      return true;
    });
  }

  void throw_found(int device) {
    if (!any_found()) return;
    cuda_backend().synchronize_device(device);  // of the places that a kernel finds, the first
    const std::lock_guard lock(mutex_);
    const auto noted = std::find_if(noted_.begin(), noted_.end(), has_found);
    if (noted == noted_.end()) return;  // another thread has said it
    const std::string text =
        (noted->path ? noted->path->to_string() + ": " : std::string()) + noted->op +
        ": values must be in range, got one that isn't, at place " +
        std::to_string(found_at(noted->place)) + " of an earlier call on " +
        to_string(Device(DeviceType::cuda, device)) + " (AORTA_LAUNCH_BLOCKING=1 shows which)";
    if (noted->captured) {
      clear(noted->place);
    } else {
      release(noted->place);
      noted_.erase(noted);
    }
    throw Error(text);
  }

 private:
  struct Noted {
    const char* op;
    Ref<ModulePath> path = module_path();
    cudaStream_t stream = nullptr;
    bool captured = false;
    uint64_t queued = 0;  // its number among those whose kernels are queued; 0 before
    unsigned long long* place = nullptr;
  };

  static bool has_found(const Noted& noted) { return found_at(noted.place) != kNone; }

  bool any_left() {
    const std::lock_guard lock(mutex_);
    return blocks_ == 0 || !free_.empty();
  }
  bool any_found() {
    const std::lock_guard lock(mutex_);
    return std::any_of(noted_.begin(), noted_.end(), has_found);
  }

  unsigned long long* note(Noted noted) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) add_block();
    noted.place = free_.back();
    free_.pop_back();
    noted_.push_back(std::move(noted));
    return noted_.back().place;
  }

  void add_block() {
    const BesideCaptures beside;
    auto* const places = static_cast<unsigned long long*>(
        cuda_backend().allocate_pinned(kPlaces * int64_t{sizeof(unsigned long long)}));
    std::fill_n(places, kPlaces, kNone);
    ++blocks_;
    for (int i = kPlaces; i-- > 0;) free_.push_back(places + i);
  }

  // The graph runs no more; what it has found is still to be said.
  void let_go(unsigned long long* place) {
    const std::lock_guard lock(mutex_);
    for (Noted& noted : noted_) {
      if (noted.place == place) noted.captured = false;
    }
  }

  static void clear(unsigned long long* place) {
    std::atomic_ref(*place).store(kNone, std::memory_order_release);
  }
  void release(unsigned long long* place) {
    clear(place);
    free_.push_back(place);
  }

  std::mutex mutex_;
  int blocks_ = 0;
  uint64_t queued_ = 0;
  std::vector<unsigned long long*> free_;
  std::vector<Noted> noted_;  // in the order of the calls
};

}  // namespace

FirstBad::FirstBad(const char* op, int device, cudaStream_t stream) : device_(device) {
  if (called_op()) op = called_op();
  kernel::Recording* const recording = kernel::Recording::current();
  place_ = recording ? Places::of(device).take(op, *recording)
                     : Places::of(device).take(op, device, stream);
}

FirstBad::~FirstBad() {
  if (place_) Places::of(device_).note_queued(place_);
}

int64_t FirstBad::known() {
  if (!synchronous_launches()) return -1;
  const auto found = static_cast<int64_t>(found_at(place_));
  Places::of(device_).give_back(std::exchange(place_, nullptr));
  return found;  // -1 where all bits are set
}

NotedWait::NotedWait(int device, cudaStream_t stream)
    : device_(device), stream_(stream), queued_(Places::of(device).queued()) {}

void NotedWait::over() const { Places::of(device_).note_done(stream_, queued_); }

void throw_first_bad(int device) { Places::of(device).throw_found(device); }

}  // namespace aorta::cuda
