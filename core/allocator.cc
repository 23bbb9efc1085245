#include <aorta/core/allocator.h>
#include <aorta/core/check.h>

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace aorta::cpu {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCaching = false;
#else
constexpr bool kCaching = true;
#endif

constexpr int64_t kAlignment = 64;
constexpr int64_t kSmallLimit = 64 << 10;  // up to here: thread-local lists
constexpr int64_t kHugePage = 2 << 20;

// Size classes: multiples of 64 up to 512, then eight to a power of two.
int size_class(int64_t bytes) {
  const uint64_t units = (static_cast<uint64_t>(bytes) + kAlignment - 1) / kAlignment;
  if (units <= 8) return static_cast<int>(units) - 1;
  const int shift = std::bit_width(units - 1) - 4;  // keeps 4 bits of units - 1
  return 8 * shift + static_cast<int>((units - 1) >> shift);
}

int64_t class_bytes(int index) {
  if (index < 8) return (index + 1) * kAlignment;
  const int shift = index / 8 - 1;
  return static_cast<int64_t>(index % 8 + 9) << shift << 6;
}

constexpr int kClasses = 8 * 48;
constexpr int kSmallClasses = 64;  // size_class(kSmallLimit) + 1

struct FreeBlock {
  FreeBlock* next;
};

std::atomic<int64_t> bytes_in_use{0}, bytes_cached{0}, peak_bytes{0}, system_calls{0};

void* take_from_system(int64_t bytes) {
  system_calls.fetch_add(1, std::memory_order_relaxed);
  if (bytes < kHugePage || !kCaching) {
    return std::aligned_alloc(kAlignment, static_cast<size_t>(bytes));
  }
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return data;
}

void give_to_system(void* data, int64_t bytes) {
  if (bytes < kHugePage || !kCaching) {
    std::free(data);
  } else {
    munmap(data, static_cast<size_t>(bytes));
  }
}

struct LargeCache {
  std::mutex mutex;
  FreeBlock* lists[kClasses] = {};

  void* pop(int index) {
    std::lock_guard lock(mutex);
    FreeBlock* block = lists[index];
    if (!block) return nullptr;
    lists[index] = block->next;
    bytes_cached.fetch_sub(class_bytes(index), std::memory_order_relaxed);
    return block;
  }
  void push(int index, void* data) {
    std::lock_guard lock(mutex);
    lists[index] = new (data) FreeBlock{lists[index]};
    bytes_cached.fetch_add(class_bytes(index), std::memory_order_relaxed);
  }
  void clear() {
    std::lock_guard lock(mutex);
    for (int i = 0; i < kClasses; ++i) {
      while (FreeBlock* block = lists[i]) {
        lists[i] = block->next;
        bytes_cached.fetch_sub(class_bytes(i), std::memory_order_relaxed);
        give_to_system(block, class_bytes(i));
      }
    }
  }
};

LargeCache& large_cache() {
  // Never destroyed: tensors may outlive statics. A copy of the process made by fork has its own
  // mutex, which no thread that isn't in the copy may hold.
  static LargeCache* cache = [] {
    auto* made = new LargeCache;
    pthread_atfork([] { large_cache().mutex.lock(); }, [] { large_cache().mutex.unlock(); },
                   [] { large_cache().mutex.unlock(); });
    return made;
  }();
  return *cache;
}

void count_use(int64_t bytes) {
  const int64_t now = bytes_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

// A thread's small blocks. A block may be freed by another thread than the one that took it: it
// then changes lists. A list holds a bounded number of bytes; what is over goes back to the large
// cache's lists, where any thread finds it.
struct SmallCache {
  FreeBlock* lists[kSmallClasses] = {};
  int counts[kSmallClasses] = {};
  int64_t uncounted = 0;  // bytes taken less bytes freed that bytes_in_use doesn't show yet
  ~SmallCache();

  // A locked addition costs as much as all the rest of a small allocation: most are put off.
  void count(int64_t bytes) {
    uncounted += bytes;
    if (uncounted > kSmallLimit || uncounted < -kSmallLimit) flush();
  }
  void flush() { count_use(std::exchange(uncounted, 0)); }
};

thread_local constinit SmallCache* small_cache = nullptr;
thread_local constinit bool thread_ending = false;

struct SmallCacheOwner {
  SmallCache cache;
  SmallCacheOwner() { small_cache = &cache; }
  ~SmallCacheOwner() {
    small_cache = nullptr;
    thread_ending = true;
  }
};

SmallCache::~SmallCache() {
  flush();
  for (int i = 0; i < kSmallClasses; ++i) {
    while (FreeBlock* block = lists[i]) {
      lists[i] = block->next;
      large_cache().push(i, block);
    }
  }
}

[[gnu::noinline]] SmallCache* make_small_cache() {
  if (thread_ending) return nullptr;
  thread_local SmallCacheOwner owner;
  return small_cache;
}

SmallCache* this_threads_cache() {
  SmallCache* cache = small_cache;
  return cache ? cache : make_small_cache();
}

[[gnu::noinline]] void* allocate_slowly(int64_t bytes, int index) {
  if (kCaching) {
    if (void* data = large_cache().pop(index)) return data;
  }
  const int64_t size = class_bytes(index);
  void* data = take_from_system(size);
  if (!data && kCaching) {
    empty_cache();
    data = take_from_system(size);
  }
  check(data != nullptr, "allocate", "the machine has no more memory", bytes, " bytes wanted, ",
        bytes_in_use.load(), " in use");
  return data;
}

}  // namespace

void* allocate(int64_t bytes) {
  if (bytes <= 0) return nullptr;
  check(bytes <= (int64_t{1} << 46), "allocate", "a tensor has at most 2^46 bytes", bytes);
  const int index = size_class(bytes);
  const int64_t size = class_bytes(index);
  SmallCache* cache = kCaching && bytes <= kSmallLimit ? this_threads_cache() : nullptr;
  if (cache && cache->lists[index]) {
    FreeBlock* block = cache->lists[index];
    cache->lists[index] = block->next;
    --cache->counts[index];
    cache->count(size);
    return block;
  }
  void* data = allocate_slowly(bytes, index);
  count_use(size);
  return data;
}

void deallocate(void* data, int64_t bytes) {
  if (!data) return;
  const int index = size_class(bytes);
  const int64_t size = class_bytes(index);
  SmallCache* cache = kCaching && bytes <= kSmallLimit ? this_threads_cache() : nullptr;
  if (cache && cache->counts[index] * size < 4 * kSmallLimit) {
    cache->lists[index] = new (data) FreeBlock{cache->lists[index]};
    ++cache->counts[index];
    return cache->count(-size);
  }
  count_use(-size);
  if (!kCaching) return give_to_system(data, size);
  large_cache().push(index, data);
}

AllocatorStats allocator_stats() {
  if (small_cache) small_cache->flush();
  return {bytes_in_use.load(), bytes_cached.load(), peak_bytes.load(), system_calls.load()};
}

void reset_peak_bytes() { peak_bytes.store(allocator_stats().bytes_in_use); }

void empty_cache() { large_cache().clear(); }

}  // namespace aorta::cpu
