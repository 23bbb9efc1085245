#pragma once

#include <cstddef>
#include <cstdint>

namespace aorta {

/// The caching CPU allocator: freed blocks are kept and reused, so that a result after the first
/// ones costs no page faults. Up to 1 MiB they are kept by size class (at most 12.5 % over the
/// request), small ones in thread-local lists without a lock; beyond, in a heap that joins and cuts
/// them (heap.h). Blocks are aligned to 64 bytes. With AddressSanitizer nothing is cached, so that
/// a use after free is seen.
namespace cpu {

/// At least `bytes` of memory; throws Error when the machine has no more. nullptr for 0.
void* allocate(int64_t bytes);
/// `bytes` is what was asked for.
void deallocate(void* data, int64_t bytes);

struct AllocatorStats {
  int64_t bytes_in_use = 0;  // asked for and not yet freed, rounded up
  int64_t bytes_cached = 0;  // freed and kept (blocks over 64 KiB)
  int64_t peak_bytes = 0;    // the most that was in use at once
  int64_t system_calls = 0;  // times that memory was taken from the system
};
/// Exact for the calling thread and for threads that ended; another thread's small blocks may be up
/// to 64 KB behind.
AllocatorStats allocator_stats();
void reset_peak_bytes();
/// Gives the cached large blocks back to the system.
void empty_cache();

}  // namespace cpu
}  // namespace aorta
