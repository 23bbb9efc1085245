#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace aorta::emulated {

/// `named`: a call is about to, and what it is about has to be there.
enum class Access { named, read, write };

/// A piece of memory that a call of the runtime gave out or registered.
struct Allocation {
  enum class Kind { device, pinned, registered };
  uintptr_t begin = 0;
  size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;  // whose it is; for host memory the one that was current
  bool live = true;
  uint64_t number = 0;  // never given twice
};

/// All memory that the emulated machine knows. Each device has addresses of its own, which are
/// never given out again, and which the host can't touch: in lazy mode they are protected outside
/// of `DeviceAccess`, and a touch ends the program with a line that says so. Within one, a touch
/// opens the 2 MiB around it, and each further one twice as much: to switch the protection of all
/// memory at each piece of work was a quarter of what the tests took.
///
/// Every byte of a device has two bits: allocated, and written. New memory is full of 0xff.
class Memory {
 public:
  static Memory& get();

  /// nullptr where the device has no more.
  void* allocate_device(int device, size_t bytes);
  void* allocate_pinned(int device, size_t bytes);
  void register_host(int device, void* data, size_t bytes);
  /// Gives up the allocation; its bytes are neither allocated nor written any more.
  void release(const Allocation& allocation);

  /// The live allocation that an address lies in; null for other memory.
  const Allocation* find(uintptr_t address) const;
  const Allocation* find(const void* data) const { return find(reinterpret_cast<uintptr_t>(data)); }
  /// A live piece of page-locked host memory that shares a byte with the range, or null.
  const Allocation* find_locked(uintptr_t begin, size_t bytes) const;
  /// Says so where memory is registered that isn't mapped any more.
  void check_registered() const;
  size_t used(int device) const { return arenas_[device].used; }

  /// The device whose addresses these are, or -1.
  int device_of(uintptr_t address) const {
    const uintptr_t offset = address - base_;
    return offset < kDeviceSpan * kMostDevices ? static_cast<int>(offset / kDeviceSpan) : -1;
  }

  /// True when a whole access of up to 16 bytes is to allocated memory of a device.
  bool is_allocated(uintptr_t address, size_t bytes) const {
    return all(allocated_, address, bytes);
  }
  bool is_written(uintptr_t address, size_t bytes) const { return all(written_, address, bytes); }
  void set_written(uintptr_t address, size_t bytes);
  /// What lies there is anything.
  void forget_written(uintptr_t address, size_t bytes);
  void set_allocated(uintptr_t address, size_t bytes);
  /// Bytes of an allocation are given out by the program's allocator, with what `written` says of
  /// them: nothing where it is empty.
  void lend(uintptr_t address, size_t bytes, const std::vector<uint8_t>& written);
  /// They are nobody's; what was written of them.
  std::vector<uint8_t> take_back(uintptr_t address, size_t bytes);

  /// "freed memory of cuda:1, 24 bytes into a block of 512", "pageable host memory".
  std::string describe(uintptr_t address) const;
  /// What forbids that `device` touches the bytes; empty when nothing does. The range has to lie in
  /// one allocation.
  std::string problem(const void* data, size_t bytes, Access access, int device,
                      bool pageable_too) const;

  /// Opens a device's memory where a touch at `address` may: it is within a `DeviceAccess`, and was
  /// closed. For the handler of the fault.
  bool open_at(uintptr_t address);

  /// Which devices may touch which others' memory.
  bool peer_access[8][8] = {};

 private:
  friend class DeviceAccess;
  static constexpr int kMostDevices = 8;
  static constexpr uintptr_t kDeviceSpan = uintptr_t{1} << 36;
  struct Arena {
    uintptr_t top = 0;  // where the next allocation begins
    size_t used = 0;
  };
  struct Range {
    uintptr_t begin, end;
  };

  Memory();
  // An access of at most 16 bytes lies in at most three bytes of the bits.
  bool all(const uint8_t* bits, uintptr_t address, size_t bytes) const {
    const uintptr_t offset = address - base_;
    uint32_t word;
    __builtin_memcpy(&word, bits + offset / 8, sizeof word);
    const uint32_t mask = (uint32_t{1} << bytes) - 1;
    return (word >> (offset % 8) & mask) == mask;
  }
  void set_bits(uint8_t* bits, uintptr_t address, size_t bytes, bool value);
  bool all_bits(const uint8_t* bits, uintptr_t address, size_t bytes, size_t& first_bad) const;
  void close();

  uintptr_t base_ = 0;
  uint8_t* allocated_ = nullptr;
  uint8_t* written_ = nullptr;
  Arena arenas_[kMostDevices];
  std::map<uintptr_t, Allocation> allocations_;  // device memory, freed too
  std::map<uintptr_t, Allocation> host_;         // live page-locked memory
  uint64_t next_number_ = 1;
  int open_ = 0;
  std::vector<Range> opened_;  // what may be touched now
  size_t next_opening_;        // bytes
};

/// While one lives, this process may touch device memory: it is what a device is doing.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace aorta::emulated
