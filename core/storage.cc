#include <aorta/core/allocator.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/storage.h>
#include <aorta/core/written.h>

#include <new>

namespace aorta {

// Meta tensors may together have more than 63 bits.
static thread_local constinit uint64_t allocated_by_thread = 0;

int64_t bytes_allocated_by_thread() { return static_cast<int64_t>(allocated_by_thread); }

Storage* Storage::make(void* data, int64_t size_bytes, Device device) {
  return new (cpu::allocate(sizeof(Storage))) Storage(data, size_bytes, device);
}

Ref<Storage> Storage::allocate(int64_t size_bytes, Device device) {
  void* data = device.is_cpu() ? cpu::allocate(size_bytes)
                               : backend(device.type).allocate(size_bytes, device.index);
  allocated_by_thread += static_cast<uint64_t>(size_bytes);
  return Ref<Storage>::adopt(make(data, size_bytes, device));
}

Ref<Storage> Storage::allocate_pinned(int64_t size_bytes) {
  void* data = backend(DeviceType::cuda).allocate_pinned(size_bytes);
  Storage* storage = make(data, size_bytes, Device());
  storage->pinned_ = true;
  return Ref<Storage>::adopt(storage);
}

Ref<Storage> Storage::borrow(void* data, int64_t size_bytes, Device device, Deleter deleter,
                             void* context, bool pinned) {
  Storage* storage = make(data, size_bytes, device);
  storage->pinned_ = pinned;
  storage->borrowed_ = true;
  storage->deleter_ = deleter;
  storage->context_ = context;
  return Ref<Storage>::adopt(storage);
}

void Storage::destroy() {
  kernel::forget_written(*this);
  if (borrowed_) {
    if (deleter_) deleter_(context_);
  } else if (pinned_) {
    backend(DeviceType::cuda).deallocate_pinned(data_, size_bytes_);
  } else if (device_.is_cpu()) {
    cpu::deallocate(data_, size_bytes_);
  } else {
    backend(device_.type).deallocate(data_, size_bytes_, device_.index);
  }
  this->~Storage();
  cpu::deallocate(this, sizeof(Storage));
}

}  // namespace aorta
