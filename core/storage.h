#pragma once

#include <aorta/core/device.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace aorta {

/// A counted pointer to an object with `retain()` and `release()`.
template <class T>
class Ref {
 public:
  constexpr Ref() = default;
  constexpr Ref(std::nullptr_t) {}
  /// Takes over one count of `object`.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const = default;
  /// Gives the count away.
  T* leak() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

/// The sum of the sizes of all storages that this thread has ever allocated, on any device.
int64_t bytes_allocated_by_thread();

/// A piece of memory on a device that tensors share. Views of one tensor have one storage; every
/// write through any of them bumps its version.
class Storage {
 public:
  using Deleter = void (*)(void* context);

  /// New memory from the device's allocator, not initialised.
  static Ref<Storage> allocate(int64_t size_bytes, Device device);
  /// Page-locked host memory; throws without CUDA.
  static Ref<Storage> allocate_pinned(int64_t size_bytes);
  /// Memory that someone else owns; `deleter(context)` runs when the last tensor lets go. `pinned`
  /// says that it is page-locked.
  static Ref<Storage> borrow(void* data, int64_t size_bytes, Device device, Deleter deleter,
                             void* context, bool pinned = false);

  char* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  Device device() const { return device_; }
  bool is_pinned() const { return pinned_; }
  /// The context of memory borrowed with that deleter, which tells whose memory it is; else null.
  void* context_of(Deleter deleter) const { return deleter_ == deleter ? context_ : nullptr; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  /// The number of tensors (and others) that hold it.
  int32_t use_count() const { return count_.load(std::memory_order_relaxed); }

  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    // A sole owner has nobody to race with, and saves the locked subtraction.
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy();
    }
  }

  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

 private:
  Storage(void* data, int64_t size_bytes, Device device) noexcept
      : data_(static_cast<char*>(data)), size_bytes_(size_bytes), device_(device) {}
  ~Storage() = default;
  static Storage* make(void* data, int64_t size_bytes, Device device);
  void destroy();

  std::atomic<int32_t> count_{1};
  std::atomic<uint32_t> version_{0};
  char* data_;
  int64_t size_bytes_;
  Device device_;
  bool pinned_ = false;
  bool borrowed_ = false;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace aorta
