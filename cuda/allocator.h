#pragma once

#include <aorta/core/device_backend.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace aorta::cuda {

/// A stream as the allocator knows it: handles of one device are different.
struct StreamKey {
  int device = 0;
  void* handle = nullptr;
  auto operator<=>(const StreamKey& other) const = default;
};

/// What the allocator asks of the machine: a table of functions, so that its rules are tested
/// without a GPU.
struct MemoryDriver {
  void* context = nullptr;
  /// New memory, aligned to 256 bytes; nullptr when there is no more.
  void* (*allocate)(void* context, int64_t bytes) = nullptr;
  /// Gives memory back, after the work that uses it; false where that can't be done now.
  bool (*free)(void* context, void* data) = nullptr;
  /// Bytes that the device has left.
  int64_t (*free_bytes)(void* context) = nullptr;
  /// Marks the work queued on `stream` so far; nullptr where that can't be done now.
  void* (*record_event)(void* context, StreamKey stream) = nullptr;
  /// True when the marked work is done; false also where that can't be told.
  bool (*event_done)(void* context, void* event) = nullptr;
  /// Waits for the marked work; false where that can't be done.
  bool (*wait_event)(void* context, void* event) = nullptr;
  void (*destroy_event)(void* context, void* event) = nullptr;
  /// Says that `bytes` at `data`, in memory that `allocate` gave at `from`, are somebody's.
  void (*lent)(void* context, const void* from, const void* data, int64_t bytes) = nullptr;
  /// Says that they are nobody's, though work on them may still be queued.
  void (*returned)(void* context, const void* from, const void* data) = nullptr;
};

/// A caching allocator in stream order, for the memory of one device or for page-locked host
/// memory.
///
/// A block belongs to the stream that it was allocated on. A freed block is given out again to that
/// stream at once, while work that uses it may still be queued there: later work of the same stream
/// runs after it. Work of another stream has to be announced with `record_stream`; the block then
/// rests until that work, as far as it was queued when the block was freed, is done. Where the
/// driver can't say so, because a call failed or a graph is being captured, it goes on resting.
///
/// Sizes are rounded up to eight classes to a power of two, at least 512 bytes; a free block serves
/// requests down to 4/5 of its size. Blocks up to 256 KiB are cut from slabs of 2 MiB.
/// A stream's memory is held while graphs that use it may be launched: it is given out to nobody
/// but the stream, whose work is then the graph's, and goes back to the machine when it is
/// released. When the machine has no more memory, everything cached is given back and the request
/// is tried again, then once more after waiting for resting blocks. Thread-safe.
class StreamAllocator {
 public:
  /// `where` names the memory in errors: "cuda:0".
  StreamAllocator(std::string where, const MemoryDriver& driver);
  ~StreamAllocator();
  StreamAllocator(const StreamAllocator&) = delete;
  StreamAllocator& operator=(const StreamAllocator&) = delete;

  /// At least `bytes`, aligned to 256 bytes; nullptr for 0. Throws when there is no more memory.
  void* allocate(int64_t bytes, StreamKey stream);
  /// Takes a block back; its work may still be queued. Never throws.
  void deallocate(void* data) noexcept;
  /// Says that work on `stream` uses the block that `data` lies in; false when it is none of ours.
  bool record_stream(const void* data, StreamKey stream);
  /// Gives the cached memory back to the machine.
  void empty_cache();
  /// From now on, until `release`, what is allocated for the stream belongs to a graph, also when
  /// it is free.
  void hold(StreamKey stream);
  void release(StreamKey stream) noexcept;

  MemoryStats stats() const;
  void reset_peak();

 private:
  struct Slab;
  struct Block;
  struct Pool;
  struct Resting {
    Block* block;
    std::vector<void*> events;
    std::vector<StreamKey> unmarked;  // visitors whose work couldn't be marked yet
  };

  Pool& pool_of(StreamKey stream);
  Block* take_cached(Pool& pool, int64_t size);
  Block* cut_from_slab(Pool& pool, int64_t size);
  Block* allocate_large(Pool& pool, int64_t size);
  void* take_from_machine(int64_t size, int64_t wanted);
  [[noreturn]] void out_of_memory(int64_t wanted);
  void take_back(Block& block) const;
  void make_free(Block* block);
  void mark_visitors(Resting& resting);
  void wake_resting(bool wait);
  void release_cached();

  const std::string where_;
  const MemoryDriver driver_;
  mutable std::mutex mutex_;
  std::map<StreamKey, std::unique_ptr<Pool>> pools_;
  std::map<uintptr_t, Block*> live_;  // by address
  std::vector<Resting> resting_;
  MemoryStats stats_;
};

/// `bytes` rounded up to a size class.
int64_t size_class_bytes(int64_t bytes);

/// "1.50 GiB", "512 bytes".
std::string readable_bytes(int64_t bytes);

}  // namespace aorta::cuda
