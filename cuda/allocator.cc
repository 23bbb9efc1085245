#include <aorta/core/integers.h>
#include <aorta/core/resource_error.h>
#include <aorta/cuda/allocator.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

namespace aorta::cuda {
namespace {

constexpr int64_t kSmallest = 512;
constexpr int64_t kSmallLimit = 256 << 10;  // up to here blocks are cut from slabs
constexpr int64_t kSlabBytes = 2 << 20;

}  // namespace

int64_t size_class_bytes(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  // Four significant bits: the leading one and three more.
  const int shift = std::max(static_cast<int>(std::bit_width(static_cast<uint64_t>(bytes - 1))) - 4,
                             std::countr_zero(static_cast<uint64_t>(kSmallest)));
  const int64_t unit = int64_t{1} << shift;
  return round_up(bytes, unit);
}

std::string readable_bytes(int64_t bytes) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %s", value, units[unit]);
  return text;
}

struct StreamAllocator::Slab {
  char* data = nullptr;
  int64_t used = 0;      // bytes cut off so far
  int64_t in_hands = 0;  // blocks that are not in a free list
};

struct StreamAllocator::Block {
  char* data = nullptr;
  int64_t size = 0;
  Pool* pool = nullptr;
  Slab* slab = nullptr;             // where it was cut from; null for a block of its own
  std::vector<StreamKey> visitors;  // other streams with work on it
  bool lent = false;                // as the driver knows it

  const void* from() const { return slab ? slab->data : data; }  // as the machine gave it
};

struct StreamAllocator::Pool {
  StreamKey stream;
  std::map<int64_t, std::vector<Block*>> free;  // by size
  std::vector<std::unique_ptr<Slab>> slabs;     // the last one is being cut
  bool held = false;                            // by a graph
};

StreamAllocator::StreamAllocator(std::string where, const MemoryDriver& driver)
    : where_(std::move(where)), driver_(driver) {}

StreamAllocator::~StreamAllocator() {
  std::lock_guard lock(mutex_);
  wake_resting(true);
  release_cached();
  for (auto& [address, block] : live_) delete block;
  for (Resting& resting : resting_) delete resting.block;
}

void* StreamAllocator::allocate(int64_t bytes, StreamKey stream) {
  if (bytes <= 0) return nullptr;
  check(bytes <= (int64_t{1} << 46), "allocate", "a tensor has at most 2^46 bytes", bytes);
  std::lock_guard lock(mutex_);
  wake_resting(false);
  Pool& pool = pool_of(stream);
  const int64_t size = size_class_bytes(bytes);
  Block* block = take_cached(pool, size);
  if (!block) block = size <= kSmallLimit ? cut_from_slab(pool, size) : allocate_large(pool, size);
  live_[reinterpret_cast<uintptr_t>(block->data)] = block;
  if (block->slab) ++block->slab->in_hands;
  stats_.bytes_in_use += block->size;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
  // In a graph a free block is still written by what was captured before.
  if (!block->lent)
    driver_.lent(driver_.context, block->from(), block->data, pool.held ? block->size : bytes);
  block->lent = true;
  return block->data;
}

StreamAllocator::Pool& StreamAllocator::pool_of(StreamKey stream) {
  std::unique_ptr<Pool>& pool = pools_[stream];
  if (!pool) {
    pool = std::make_unique<Pool>();
    pool->stream = stream;
  }
  return *pool;
}

StreamAllocator::Block* StreamAllocator::take_cached(Pool& pool, int64_t size) {
  const auto place = pool.free.lower_bound(size);
  if (place == pool.free.end() || place->first > size + size / 4) return nullptr;
  Block* block = place->second.back();
  place->second.pop_back();
  if (place->second.empty()) pool.free.erase(place);
  stats_.bytes_cached -= block->size;
  return block;
}

StreamAllocator::Block* StreamAllocator::cut_from_slab(Pool& pool, int64_t size) {
  if (pool.slabs.empty() || pool.slabs.back()->used + size > kSlabBytes) {
    auto slab = std::make_unique<Slab>();
    slab->data = static_cast<char*>(take_from_machine(kSlabBytes, size));
    pool.slabs.push_back(std::move(slab));
  }
  Slab* slab = pool.slabs.back().get();
  Block* block = new Block{
      .data = slab->data + slab->used, .size = size, .pool = &pool, .slab = slab, .visitors = {}};
  slab->used += size;
  return block;
}

StreamAllocator::Block* StreamAllocator::allocate_large(Pool& pool, int64_t size) {
  char* data = static_cast<char*>(take_from_machine(size, size));
  return new Block{.data = data, .size = size, .pool = &pool, .slab = nullptr, .visitors = {}};
}

void* StreamAllocator::take_from_machine(int64_t size, int64_t wanted) {
  ++stats_.system_calls;
  if (void* data = driver_.allocate(driver_.context, size)) return data;
  release_cached();
  if (void* data = driver_.allocate(driver_.context, size)) return data;
  wake_resting(true);
  release_cached();
  if (void* data = driver_.allocate(driver_.context, size)) return data;
  out_of_memory(wanted);
}

void StreamAllocator::out_of_memory(int64_t wanted) {
  fail_for_resources("allocate", where_ + " has no more memory", readable_bytes(wanted),
                     " wanted, ", readable_bytes(driver_.free_bytes(driver_.context)), " free, ",
                     readable_bytes(stats_.bytes_in_use), " in use, ",
                     readable_bytes(stats_.bytes_cached), " cached, ",
                     readable_bytes(stats_.peak_bytes), " at the peak");
}

void StreamAllocator::deallocate(void* data) noexcept {
  if (!data) return;
  std::lock_guard lock(mutex_);
  const auto place = live_.find(reinterpret_cast<uintptr_t>(data));
  if (place == live_.end()) return;
  Block* block = place->second;
  live_.erase(place);
  stats_.bytes_in_use -= block->size;
  stats_.bytes_cached += block->size;
  if (!block->pool->held) take_back(*block);
  Resting resting{block, {}, std::exchange(block->visitors, {})};
  mark_visitors(resting);
  if (resting.events.empty() && resting.unmarked.empty()) {
    make_free(block);
  } else {
    resting_.push_back(std::move(resting));
  }
}

bool StreamAllocator::record_stream(const void* data, StreamKey stream) {
  std::lock_guard lock(mutex_);
  const uintptr_t address = reinterpret_cast<uintptr_t>(data);
  auto place = live_.upper_bound(address);
  if (place == live_.begin()) return false;
  Block* block = (--place)->second;
  if (address >= place->first + static_cast<uintptr_t>(block->size)) return false;
  if (stream == block->pool->stream) return true;
  if (std::find(block->visitors.begin(), block->visitors.end(), stream) == block->visitors.end()) {
    block->visitors.push_back(stream);
  }
  return true;
}

void StreamAllocator::take_back(Block& block) const {
  if (block.lent) driver_.returned(driver_.context, block.from(), block.data);
  block.lent = false;
}

void StreamAllocator::make_free(Block* block) {
  if (block->slab) --block->slab->in_hands;
  block->pool->free[block->size].push_back(block);
}

// What can't be marked now is tried again later: then the mark stands behind more work than it
// need.
void StreamAllocator::mark_visitors(Resting& resting) {
  std::erase_if(resting.unmarked, [&](const StreamKey& visitor) {
    void* event = driver_.record_event(driver_.context, visitor);
    if (event) resting.events.push_back(event);
    return event != nullptr;
  });
}

// Blocks whose visitors are done go to their free lists; with `wait` all do that can be waited for.
void StreamAllocator::wake_resting(bool wait) {
  std::erase_if(resting_, [&](Resting& resting) {
    mark_visitors(resting);
    std::erase_if(resting.events, [&](void* event) {
      const bool done = wait ? driver_.wait_event(driver_.context, event)
                             : driver_.event_done(driver_.context, event);
      if (done) driver_.destroy_event(driver_.context, event);
      return done;
    });
    if (!resting.events.empty() || !resting.unmarked.empty()) return false;
    make_free(resting.block);
    return true;
  });
}

// Frees every free block of its own and every slab that has no block in use. What the machine
// doesn't take back now stays, and is offered again.
void StreamAllocator::release_cached() {
  for (auto& [stream, pool] : pools_) {
    if (pool->held) continue;
    for (auto& [size, blocks] : pool->free) {
      std::erase_if(blocks, [&](Block* block) {
        if (block->slab && block->slab->in_hands > 0) return false;
        if (!block->slab && !driver_.free(driver_.context, block->data)) return false;
        stats_.bytes_cached -= block->size;
        delete block;
        return true;
      });
    }
    std::erase_if(pool->free, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(pool->slabs, [&](const std::unique_ptr<Slab>& slab) {
      return slab->in_hands == 0 && driver_.free(driver_.context, slab->data);
    });
  }
}

void StreamAllocator::empty_cache() {
  std::lock_guard lock(mutex_);
  wake_resting(false);
  release_cached();
}

void StreamAllocator::hold(StreamKey stream) {
  std::lock_guard lock(mutex_);
  pool_of(stream).held = true;
}

void StreamAllocator::release(StreamKey stream) noexcept {
  std::lock_guard lock(mutex_);
  const auto pool = pools_.find(stream);
  if (pool == pools_.end()) return;
  pool->second->held = false;
  for (auto& [size, blocks] : pool->second->free) {
    for (Block* block : blocks) take_back(*block);
  }
  for (Resting& resting : resting_) {
    if (resting.block->pool == pool->second.get()) take_back(*resting.block);
  }
}

MemoryStats StreamAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void StreamAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.bytes_in_use;
}

}  // namespace aorta::cuda
