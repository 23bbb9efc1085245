// Every load and store of a kernel. The kernels are compiled with -fsanitize=thread, which calls
// these functions before each access; host code of the same files calls them too, and passes.
#include <aorta/tests/cuda/emulated/block.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/races.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>

#include <link.h>

#include <vector>

namespace aorta::emulated {
namespace {

constexpr const char* kMemcheckPage = "docs.nvidia.com/compute-sanitizer, Memcheck";
constexpr const char* kInitcheckPage = "docs.nvidia.com/compute-sanitizer, Initcheck";
constexpr const char* kRacecheckPage = "docs.nvidia.com/compute-sanitizer, Racecheck";

/// The constants of the program: a kernel's may lie there.
bool is_constant(uintptr_t address, size_t bytes) {
  struct Range {
    uintptr_t begin, end;
  };
  static const std::vector<Range> ranges = [] {
    std::vector<Range> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* to) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& header = info->dlpi_phdr[i];
            if (header.p_type != PT_LOAD && header.p_type != PT_GNU_RELRO) continue;
            if (header.p_type == PT_LOAD && (header.p_flags & PF_W)) continue;
            const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
            static_cast<std::vector<Range>*>(to)->push_back({begin, begin + header.p_memsz});
          }
          return 0;
        },
        &found);
    return found;
  }();
  for (const Range& range : ranges) {
    if (address >= range.begin && address + bytes <= range.end) return true;
  }
  return false;
}

/// What the running thread does to memory that other threads see.
void note(KernelRun& run, uintptr_t address, size_t bytes, Touch touch, bool shared,
          const void* code) {
  if (run.races().full()) return;
  const Toucher who = run.toucher();
  Toucher other;
  if (!run.races().note(address, bytes, touch, shared, who, other)) return;
  const bool block = other.block != who.block;
  run.fail(block ? "two blocks of a launch don't touch what one of them writes"
                 : "a barrier lies between one thread's write and another's access",
           std::string(touch == Touch::read ? "a read of " : "a write of ") +
               std::to_string(bytes) + " bytes of " +
               (shared ? "shared memory" : Memory::get().describe(address)) + " after thread " +
               std::to_string(other.thread) + " of block " + std::to_string(other.block) + ", in " +
               name_of_code(code),
           kRacecheckPage);
}

/// Accesses of 1, 2, 4, 8 and 16 bytes; wider ones are copies, piece by piece.
bool is_aligned(uintptr_t address, size_t bytes) {
  return bytes > 16 || (address & (bytes - 1)) == 0 || (bytes & (bytes - 1)) != 0;
}

[[noreturn]] void fail(KernelRun& run, uintptr_t address, size_t bytes, Access access,
                       const std::string& rule, const char* page, const void* code) {
  run.fail(rule,
           std::string(access == Access::read ? "a read of " : "a write of ") +
               std::to_string(bytes) + " bytes of " +
               (run.in_shared_range(address) ? "shared memory" : Memory::get().describe(address)) +
               ", in " + name_of_code(code),
           page);
}

void check_device(KernelRun& run, const Memory& memory, int owner, uintptr_t address, size_t bytes,
                  Access access, const void* code) {
  const auto bad = [&](const char* rule, const char* page) {
    fail(run, address, bytes, access, rule, page, code);
  };
  if (owner != run.device() && !memory.peer_access[run.device()][owner]) {
    bad("a kernel touches its own device's memory", kMemcheckPage);
  }
  for (size_t i = 0; i < bytes; i += 16) {
    const size_t part = bytes - i < 16 ? bytes - i : 16;
    if (access == Access::read && memory.is_written(address + i, part)) continue;
    if (!memory.is_allocated(address + i, part)) {
      bad("a kernel touches memory that is allocated", kMemcheckPage);
    }
    if (access == Access::read) bad("memory is written before it is read", kInitcheckPage);
  }
}

// What the common case leaves over: an error, or memory that is no device's.
__attribute__((noinline)) void check_slowly(KernelRun& run, uintptr_t address, size_t bytes,
                                            Touch touch, const void* code) {
  const Access access = touch == Touch::write ? Access::write : Access::read;
  Memory& memory = Memory::get();
  const auto fail_alignment = [&] {
    fail(run, address, bytes, access, "an access is aligned to its size", kAlignmentPage, code);
  };
  const bool aligned = is_aligned(address, bytes);
  if (const int owner = memory.device_of(address); owner >= 0) {
    if (!aligned) fail_alignment();
    check_device(run, memory, owner, address, bytes, access, code);
    note(run, address, bytes, touch, false, code);
    if (touch != Touch::read) memory.set_written(address, bytes);
    return;
  }
  if (!aligned) fail_alignment();
  if (run.is_shared(address, bytes)) {
    if (touch == Touch::write) run.set_shared_written(address, bytes);
    if (!run.is_shared_written(address, bytes)) {
      fail(run, address, bytes, access, "memory is written before it is read", kInitcheckPage,
           code);
    }
    return note(run, address, bytes, touch, true, code);
  }
  if (run.in_shared_range(address)) {
    fail(run, address, bytes, access, "an index lies inside the array of shared memory",
         kMemcheckPage, code);
  }
  if (memory
          .problem(reinterpret_cast<const void*>(address), bytes, Access::write, run.device(),
                   false)
          .empty()) {
    return;  // page-locked: every device may touch it
  }
  if (access == Access::read && is_constant(address, bytes)) return;
  fail(run, address, bytes, access, "a kernel touches memory of the device or page-locked memory",
       kMemcheckPage, code);
}

/// `bytes` is a constant where it matters: most of the time that tests take is spent here.
inline void check(uintptr_t address, size_t bytes, Touch touch, const void* code) {
  KernelRun* run = running;
  if (!run || run->on_stack(address) || run->is_own(address, bytes)) return;
  const Memory& memory = run->memory();
  const bool shared = bytes <= 16 && run->in_shared_range(address);
  const bool plain =
      bytes <= 16 && is_aligned(address, bytes) &&
      (shared ? run->is_shared_written(address, bytes)
              : memory.device_of(address) == run->device() && memory.is_written(address, bytes));
  if (plain && run->races().full()) return;
  const OutsideKernel outside;
  if (plain) return note(*run, address, bytes, touch, shared, code);
  check_slowly(*run, address, bytes, touch, code);
}

}  // namespace

const bool checks_accesses = true;
void show_read(const void*, size_t) {}
void show_write(const void*, size_t) {}

}  // namespace aorta::emulated

using aorta::emulated::check;
using aorta::emulated::Touch;

unsigned long long atomicMin(unsigned long long* place, unsigned long long value) {
  check(reinterpret_cast<uintptr_t>(place), sizeof *place, Touch::atomic,
        __builtin_return_address(0));
  const unsigned long long old = *place;
  if (value < old) *place = value;
  return old;
}

unsigned atomicAdd(unsigned* place, unsigned value) {
  check(reinterpret_cast<uintptr_t>(place), sizeof *place, Touch::atomic,
        __builtin_return_address(0));
  const unsigned old = *place;
  *place += value;
  return old;
}

extern "C" {
void __tsan_read1(uintptr_t address) {
  check(address, 1, Touch::read, __builtin_return_address(0));
}
void __tsan_read2(uintptr_t address) {
  check(address, 2, Touch::read, __builtin_return_address(0));
}
void __tsan_read4(uintptr_t address) {
  check(address, 4, Touch::read, __builtin_return_address(0));
}
void __tsan_read8(uintptr_t address) {
  check(address, 8, Touch::read, __builtin_return_address(0));
}
void __tsan_read16(uintptr_t address) {
  check(address, 16, Touch::read, __builtin_return_address(0));
}
void __tsan_write1(uintptr_t address) {
  check(address, 1, Touch::write, __builtin_return_address(0));
}
void __tsan_write2(uintptr_t address) {
  check(address, 2, Touch::write, __builtin_return_address(0));
}
void __tsan_write4(uintptr_t address) {
  check(address, 4, Touch::write, __builtin_return_address(0));
}
void __tsan_write8(uintptr_t address) {
  check(address, 8, Touch::write, __builtin_return_address(0));
}
void __tsan_write16(uintptr_t address) {
  check(address, 16, Touch::write, __builtin_return_address(0));
}
void __tsan_read_range(uintptr_t address, size_t bytes) {
  check(address, bytes, Touch::read, __builtin_return_address(0));
}
void __tsan_write_range(uintptr_t address, size_t bytes) {
  check(address, bytes, Touch::write, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
