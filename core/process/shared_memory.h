#pragma once

#include <aorta/core/process/descriptor.h>
#include <aorta/core/storage.h>

#include <sys/types.h>

#include <atomic>
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
  /// Memory that another process made. With `given` it was counted by give(), and is taken back
  /// when this is gone. Throws where the descriptor isn't that of such memory.
  static std::shared_ptr<SharedMemory> open(Descriptor descriptor, bool given = false);
  /// What `storage` was made from, or null.
  static std::shared_ptr<SharedMemory> of(const Storage& storage);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  char* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  int descriptor() const { return descriptor_.get(); }

  /// Counts, for all processes, how often the descriptor was given away to be opened and hasn't
  /// come back. From a process that was killed it never does.
  void give() { record_->given.fetch_add(1); }
  void take_back() { record_->given.fetch_sub(1); }
  int64_t given() const { return record_->given.load(); }

 private:
  /// What all processes know of the memory, behind its end.
  struct Record {
    int64_t size_bytes;
    std::atomic<int64_t> given;
  };

  /// Maps the whole file; `size_bytes` is that of new memory, 0 of memory that has a record.
  SharedMemory(const char* op, Descriptor descriptor, int64_t file_bytes, int64_t size_bytes);

  Descriptor descriptor_;
  char* data_;
  int64_t file_bytes_, size_bytes_;
  Record* record_;
  pid_t given_to_ = 0;  // the process that it comes back from; fork() copies this, but not that
};

/// A storage on the whole of `memory`, which it keeps.
Ref<Storage> storage_on(std::shared_ptr<SharedMemory> memory);

}  // namespace aorta
