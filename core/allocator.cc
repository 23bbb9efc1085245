#include <aorta/core/allocator.h>
#include <aorta/core/heap.h>
#include <aorta/core/resource_error.h>

#include <pthread.h>

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
constexpr int64_t kListLimit = 1 << 20;    // up to here: lists by size class; beyond: the heap

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

constexpr int kClasses = 96;       // size_class(kListLimit) + 1
constexpr int kSmallClasses = 64;  // size_class(kSmallLimit) + 1

struct FreeBlock {
  FreeBlock* next;
};

std::atomic<int64_t> bytes_in_use{0}, peak_bytes{0};

bool is_listed(int64_t bytes) { return bytes <= kListLimit || !kCaching; }
// What a block of so many bytes takes.
int64_t block_bytes(int64_t bytes) {
  return is_listed(bytes) ? class_bytes(size_class(bytes)) : Heap::rounded(bytes);
}

// What all threads share.
class SharedCache {
 public:
  void* take(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!is_listed(bytes)) return heap_.take(bytes);
    if (kCaching) {
      const int index = size_class(bytes);
      if (FreeBlock* block = lists_[index]) {
        lists_[index] = block->next;
        bytes_listed_ -= bytes;
        return block;
      }
    }
    ++system_calls_;
    return std::aligned_alloc(kAlignment, static_cast<size_t>(bytes));
  }
  void give(void* data, int64_t bytes) {
    if (!kCaching) return std::free(data);
    const std::lock_guard lock(mutex_);
    if (!is_listed(bytes)) return heap_.give(data, bytes);
    const int index = size_class(bytes);
    lists_[index] = new (data) FreeBlock{lists_[index]};
    bytes_listed_ += bytes;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    heap_.clear();
    for (FreeBlock*& list : lists_) {
      while (FreeBlock* block = list) {
        list = block->next;
        std::free(block);
      }
    }
    bytes_listed_ = 0;
  }
  int64_t bytes_cached() {
    const std::lock_guard lock(mutex_);
    return bytes_listed_ + heap_.bytes_free();
  }
  int64_t system_calls() {
    const std::lock_guard lock(mutex_);
    return system_calls_ + heap_.segments();
  }
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  FreeBlock* lists_[kClasses] = {};
  Heap heap_;
  int64_t bytes_listed_ = 0, system_calls_ = 0;
};

SharedCache& shared_cache() {
  // Never destroyed: tensors may outlive statics. A copy of the process made by fork has its own
  // mutex, which no thread that isn't in the copy may hold.
  static SharedCache* cache = [] {
    auto* made = new SharedCache;
    pthread_atfork([] { shared_cache().mutex().lock(); }, [] { shared_cache().mutex().unlock(); },
                   [] { shared_cache().mutex().unlock(); });
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
// then changes lists. A list holds a bounded number of bytes; what is over goes back to the shared
// lists, where any thread finds it.
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
      shared_cache().give(block, class_bytes(i));
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

// Memory for the text of an error, when the machine has no other.
constexpr size_t kReserve = 64 << 10;
constinit std::atomic<void*> reserve{nullptr};

[[gnu::noinline]] void* allocate_slowly(int64_t bytes, int64_t size) {
  void* data = shared_cache().take(size);
  if (!data && kCaching) {
    empty_cache();
    data = shared_cache().take(size);
  }
  if (!data) [[unlikely]]
    std::free(reserve.exchange(nullptr));
  else if (!reserve.load(std::memory_order_relaxed)) [[unlikely]]
    std::free(reserve.exchange(std::malloc(kReserve)));
  check_resources(data != nullptr, "allocate", "the machine has no more memory", bytes,
                  " bytes wanted, ", bytes_in_use.load(), " in use");
  return data;
}

}  // namespace

void* allocate(int64_t bytes) {
  if (bytes <= 0) return nullptr;
  check(bytes <= (int64_t{1} << 46), "allocate", "a tensor has at most 2^46 bytes", bytes);
  if (SmallCache* cache = kCaching && bytes <= kSmallLimit ? this_threads_cache() : nullptr) {
    const int index = size_class(bytes);
    if (FreeBlock* block = cache->lists[index]) {
      cache->lists[index] = block->next;
      --cache->counts[index];
      cache->count(class_bytes(index));
      return block;
    }
  }
  const int64_t size = block_bytes(bytes);
  void* data = allocate_slowly(bytes, size);
  count_use(size);
  return data;
}

void deallocate(void* data, int64_t bytes) {
  if (!data) return;
  if (SmallCache* cache = kCaching && bytes <= kSmallLimit ? this_threads_cache() : nullptr) {
    const int index = size_class(bytes);
    const int64_t size = class_bytes(index);
    if (cache->counts[index] * size < 4 * kSmallLimit) {
      cache->lists[index] = new (data) FreeBlock{cache->lists[index]};
      ++cache->counts[index];
      return cache->count(-size);
    }
  }
  const int64_t size = block_bytes(bytes);
  count_use(-size);
  shared_cache().give(data, size);
}

AllocatorStats allocator_stats() {
  if (small_cache) small_cache->flush();
  SharedCache& shared = shared_cache();
  return {bytes_in_use.load(), shared.bytes_cached(), peak_bytes.load(), shared.system_calls()};
}

void reset_peak_bytes() { peak_bytes.store(allocator_stats().bytes_in_use); }

void empty_cache() { shared_cache().clear(); }

}  // namespace aorta::cpu
