#pragma once

#include <aorta/core/descriptor.h>
#include <aorta/core/storage.h>

#include <memory>

namespace aorta {

/// Memory that processes share: an anonymous file of a fixed size, mapped. It has no name that
/// could stay behind, isn't limited by the size of /dev/shm, and is gone with the last process that
/// holds it.
class SharedMemory {
 public:
  /// New memory of zeros. All of it is taken from the system at once, so that a later write can't
  /// fail. Throws `op: rule, got values` where the machine or the control group has too little.
  static std::shared_ptr<SharedMemory> create(const char* op, int64_t size_bytes);
  /// Memory that another process made. Throws where the descriptor isn't that of such memory.
  static std::shared_ptr<SharedMemory> open(Descriptor descriptor);
  /// What `storage` was made from, or null.
  static std::shared_ptr<SharedMemory> of(const Storage& storage);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  char* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  int descriptor() const { return descriptor_.get(); }

 private:
  SharedMemory(Descriptor descriptor, char* data, int64_t size_bytes)
      : descriptor_(std::move(descriptor)), data_(data), size_bytes_(size_bytes) {}

  Descriptor descriptor_;
  char* data_;
  int64_t size_bytes_;
};

/// A storage on the whole of `memory`, which it keeps.
Ref<Storage> storage_on(std::shared_ptr<SharedMemory> memory);

}  // namespace aorta
