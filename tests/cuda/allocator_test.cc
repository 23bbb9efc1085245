// The rules of the caching allocator, on a fake machine whose memory and streams are counted here.
#include <aorta/core/check.h>
#include <aorta/cuda/allocator.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace aorta;
using cuda::MemoryDriver;
using cuda::StreamAllocator;
using cuda::StreamKey;

namespace {

constexpr int64_t kMiB = 1 << 20;

/// A machine with `capacity` bytes, whose events are done when the test says so.
struct FakeMachine {
  int64_t capacity = 64 * kMiB;
  int64_t taken = 0;
  int allocations = 0, frees = 0, waits = 0;
  std::map<void*, int64_t> blocks;
  std::map<void*, StreamKey> events;                            // alive
  std::map<const void*, std::pair<const void*, int64_t>> lent;  // by address: from where, bytes
  std::set<void*> done;
  intptr_t next_event = 0;
  bool alive = true;
  bool takes_back = true;

  ~FakeMachine() {
    for (auto& [data, bytes] : blocks) std::free(data);
  }

  static FakeMachine& of(void* context) { return *static_cast<FakeMachine*>(context); }

  MemoryDriver driver() {
    return {.context = this,
            .allocate = [](void* context, int64_t bytes) -> void* {
              FakeMachine& m = of(context);
              if (m.taken + bytes > m.capacity) return nullptr;
              void* data = std::aligned_alloc(512, static_cast<size_t>(bytes));
              m.taken += bytes;
              ++m.allocations;
              m.blocks[data] = bytes;
              return data;
            },
            .free =
                [](void* context, void* data) {
                  FakeMachine& m = of(context);
                  EXPECT_EQ(m.blocks.count(data), 1u) << "freed what wasn't allocated";
                  if (!m.takes_back) return false;
                  m.taken -= m.blocks[data];
                  m.blocks.erase(data);
                  ++m.frees;
                  std::free(data);
                  return true;
                },
            .free_bytes = [](void* context) { return of(context).capacity - of(context).taken; },
            .record_event = [](void* context, StreamKey stream) -> void* {
              FakeMachine& m = of(context);
              if (!m.alive) return nullptr;
              void* event = reinterpret_cast<void*>(++m.next_event);
              m.events[event] = stream;
              return event;
            },
            .event_done = [](void* context, void* event) -> bool {
              return of(context).done.count(event) > 0;
            },
            .wait_event =
                [](void* context, void* event) {
                  of(context).done.insert(event);
                  ++of(context).waits;
                  return true;
                },
            .destroy_event =
                [](void* context, void* event) {
                  EXPECT_EQ(of(context).events.erase(event), 1u) << "destroyed twice";
                },
            .lent =
                [](void* context, const void* from, const void* data, int64_t bytes) {
                  EXPECT_TRUE(of(context).lent.try_emplace(data, from, bytes).second);
                },
            .returned =
                [](void* context, const void* from, const void* data) {
                  EXPECT_EQ(of(context).lent[data].first, from);
                  of(context).lent.erase(data);
                }};
  }
  void finish_all() {
    for (auto& [event, stream] : events) done.insert(event);
  }
};

StreamKey stream(int i) { return {0, reinterpret_cast<void*>(static_cast<intptr_t>(i + 1))}; }

struct CudaAllocator : testing::Test {
  FakeMachine machine;
  StreamAllocator allocator{"cuda:0", machine.driver()};
};

}  // namespace

TEST(CudaSizeClasses, AreEightToAnOctave) {
  EXPECT_EQ(cuda::size_class_bytes(1), 512);
  EXPECT_EQ(cuda::size_class_bytes(512), 512);
  EXPECT_EQ(cuda::size_class_bytes(513), 1024);
  EXPECT_EQ(cuda::size_class_bytes(4096), 4096);
  EXPECT_EQ(cuda::size_class_bytes(4097), 4608);
  EXPECT_EQ(cuda::size_class_bytes(kMiB), kMiB);
  EXPECT_EQ(cuda::size_class_bytes(kMiB + 1), kMiB + kMiB / 8);
  for (int64_t bytes = 4096; bytes < (int64_t{1} << 40); bytes += bytes / 5 + 1) {
    const int64_t rounded = cuda::size_class_bytes(bytes);
    EXPECT_GE(rounded, bytes);
    EXPECT_LE(static_cast<double>(rounded), 1.125 * static_cast<double>(bytes) + 1);
    EXPECT_EQ(rounded % 512, 0);
    EXPECT_EQ(cuda::size_class_bytes(rounded), rounded);
  }
}

TEST(CudaReadableBytes, Units) {
  EXPECT_EQ(cuda::readable_bytes(0), "0 bytes");
  EXPECT_EQ(cuda::readable_bytes(1023), "1023 bytes");
  EXPECT_EQ(cuda::readable_bytes(1536), "1.50 KiB");
  EXPECT_EQ(cuda::readable_bytes(int64_t{80} << 30), "80.00 GiB");
  EXPECT_EQ(cuda::readable_bytes(int64_t{3} << 50), "3072.00 TiB");
}

TEST_F(CudaAllocator, NothingForNothing) {
  EXPECT_EQ(allocator.allocate(0, stream(0)), nullptr);
  allocator.deallocate(nullptr);
  EXPECT_EQ(machine.allocations, 0);
}

TEST_F(CudaAllocator, FreedBlockServesItsStreamAtOnce) {
  void* a = allocator.allocate(3 * kMiB, stream(0));
  allocator.deallocate(a);
  EXPECT_EQ(allocator.allocate(3 * kMiB, stream(0)), a);
  EXPECT_EQ(machine.allocations, 1);
  EXPECT_EQ(machine.events.size(), 0u) << "the stream's own order needs no event";
}

TEST_F(CudaAllocator, FreedBlockDoesNotServeAnotherStream) {
  void* a = allocator.allocate(3 * kMiB, stream(0));
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(3 * kMiB, stream(1)), a);
}

TEST_F(CudaAllocator, LargerBlockServesWithinAFifth) {
  void* a = allocator.allocate(5 * kMiB, stream(0));
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(3 * kMiB, stream(0)), a) << "two fifths would be wasted";
  EXPECT_EQ(allocator.allocate(4 * kMiB, stream(0)), a);
}

TEST_F(CudaAllocator, SmallBlocksShareASlab) {
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(allocator.allocate(100 << 10, stream(0)));
  EXPECT_EQ(machine.allocations, 1);
  std::set<void*> different(blocks.begin(), blocks.end());
  EXPECT_EQ(different.size(), 16u);
  for (size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_GE(static_cast<char*>(blocks[i]) - static_cast<char*>(blocks[i - 1]), 100 << 10);
  }
}

// To the byte, and whose memory they are part of: tools look for accesses to the rest.
TEST_F(CudaAllocator, WhatIsLentIsSaid) {
  using Lent = decltype(machine.lent);
  const void* a = allocator.allocate(1000, stream(0));
  const void* b = allocator.allocate(700, stream(0));
  const void* c = allocator.allocate(3 * kMiB + 1, stream(0));
  ASSERT_EQ(machine.blocks.size(), 2u);
  const void* slab = a;
  EXPECT_EQ(machine.lent, (Lent{{a, {slab, 1000}}, {b, {slab, 700}}, {c, {c, 3 * kMiB + 1}}}));
  allocator.record_stream(c, stream(1));
  for (const void* data : {b, c}) allocator.deallocate(const_cast<void*>(data));
  EXPECT_EQ(machine.lent, (Lent{{a, {slab, 1000}}})) << "also what rests";
  EXPECT_EQ(allocator.allocate(513, stream(0)), b);
  EXPECT_EQ(machine.lent, (Lent{{a, {slab, 1000}}, {b, {slab, 513}}}));
}

TEST_F(CudaAllocator, SlabReturnsOnlyWhenAllItsBlocksAreFree) {
  void* a = allocator.allocate(1000, stream(0));
  void* b = allocator.allocate(1000, stream(0));
  allocator.deallocate(a);
  allocator.empty_cache();
  EXPECT_EQ(machine.frees, 0);
  EXPECT_EQ(allocator.allocate(1000, stream(0)), a) << "its block stays usable";
  allocator.deallocate(a);
  allocator.deallocate(b);
  allocator.empty_cache();
  EXPECT_EQ(machine.frees, 1);
  EXPECT_EQ(machine.taken, 0);
  EXPECT_EQ(allocator.stats().bytes_cached, 0);
}

TEST_F(CudaAllocator, WhatTheMachineDoesNotTakeBackStays) {
  void* large = allocator.allocate(3 * kMiB, stream(0));
  allocator.deallocate(large);
  allocator.deallocate(allocator.allocate(1000, stream(0)));
  machine.takes_back = false;
  allocator.empty_cache();
  EXPECT_EQ(machine.taken, 5 * kMiB);
  EXPECT_EQ(allocator.stats().bytes_cached, 3 * kMiB);
  EXPECT_EQ(allocator.allocate(3 * kMiB, stream(0)), large) << "it is still ours";
  allocator.deallocate(large);
  machine.takes_back = true;
  allocator.empty_cache();
  EXPECT_EQ(machine.taken, 0);
}

TEST_F(CudaAllocator, VisitedBlockRestsUntilTheVisitorIsDone) {
  void* a = allocator.allocate(3 * kMiB, stream(0));
  EXPECT_TRUE(allocator.record_stream(a, stream(1)));
  EXPECT_TRUE(allocator.record_stream(static_cast<char*>(a) + kMiB, stream(2))) << "a view of it";
  allocator.deallocate(a);
  ASSERT_EQ(machine.events.size(), 2u);
  EXPECT_NE(allocator.allocate(3 * kMiB, stream(0)), a);
  machine.done.insert(machine.events.begin()->first);
  EXPECT_NE(allocator.allocate(3 * kMiB, stream(0)), a) << "one visitor isn't done";
  machine.finish_all();
  EXPECT_EQ(allocator.allocate(3 * kMiB, stream(0)), a);
  EXPECT_EQ(machine.events.size(), 0u) << "events are given back";
  allocator.deallocate(a);
  EXPECT_EQ(allocator.allocate(3 * kMiB, stream(0)), a) << "visitors are forgotten with the block";
}

TEST_F(CudaAllocator, OwnStreamAndRepeatedVisitsNeedNoEvents) {
  void* a = allocator.allocate(kMiB, stream(0));
  EXPECT_TRUE(allocator.record_stream(a, stream(0)));
  EXPECT_TRUE(allocator.record_stream(a, stream(1)));
  EXPECT_TRUE(allocator.record_stream(a, stream(1)));
  allocator.deallocate(a);
  EXPECT_EQ(machine.events.size(), 1u);
}

TEST_F(CudaAllocator, ForeignMemoryIsNotRecorded) {
  char* a = static_cast<char*>(allocator.allocate(kMiB, stream(0)));
  int on_the_stack = 0;
  EXPECT_FALSE(allocator.record_stream(&on_the_stack, stream(1)));
  EXPECT_FALSE(allocator.record_stream(a + 2 * kMiB, stream(1)));
  EXPECT_FALSE(allocator.record_stream(a - 1, stream(1)));
}

TEST_F(CudaAllocator, FullMachineGivesTheCacheBackAndTriesAgain) {
  void* a = allocator.allocate(40 * kMiB, stream(0));
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(60 * kMiB, stream(1)), nullptr);
  EXPECT_EQ(machine.frees, 1);
  EXPECT_EQ(allocator.stats().bytes_cached, 0);
}

TEST_F(CudaAllocator, FullMachineWaitsForRestingBlocks) {
  void* a = allocator.allocate(40 * kMiB, stream(0));
  allocator.record_stream(a, stream(1));
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(60 * kMiB, stream(0)), nullptr);
  EXPECT_EQ(machine.waits, 1);
}

TEST_F(CudaAllocator, OutOfMemorySaysHowMuchOfEach) {
  void* a = allocator.allocate(40 * kMiB, stream(0));
  try {
    allocator.allocate(32 * kMiB, stream(0));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "allocate: cuda:0 has no more memory, got 32.00 MiB wanted, 24.00 MiB free, "
                 "40.00 MiB in use, 0 bytes cached, 40.00 MiB at the peak");
  }
  EXPECT_EQ(allocator.stats().bytes_in_use, 40 * kMiB) << "what failed isn't counted";
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(32 * kMiB, stream(0)), nullptr) << "life goes on";
}

TEST_F(CudaAllocator, ImpossibleSizesAreErrors) {
  EXPECT_THROW(allocator.allocate(int64_t{1} << 47, stream(0)), Error);
  EXPECT_THROW(allocator.allocate(INT64_MAX, stream(0)), Error);
}

TEST_F(CudaAllocator, StatsCount) {
  void* a = allocator.allocate(3 * kMiB, stream(0));
  void* b = allocator.allocate(2 * kMiB, stream(0));
  allocator.deallocate(a);
  MemoryStats stats = allocator.stats();
  EXPECT_EQ(stats.bytes_in_use, 2 * kMiB);
  EXPECT_EQ(stats.bytes_cached, 3 * kMiB);
  EXPECT_EQ(stats.peak_bytes, 5 * kMiB);
  EXPECT_EQ(stats.system_calls, 2);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak_bytes, 2 * kMiB);
  allocator.deallocate(b);
}

// A machine that is going away records no events: memory still comes back without an error.
TEST_F(CudaAllocator, ShutdownIsQuiet) {
  void* a = allocator.allocate(kMiB, stream(0));
  allocator.record_stream(a, stream(1));
  machine.alive = false;
  allocator.deallocate(a);
  EXPECT_EQ(allocator.stats().bytes_in_use, 0);
}

// While no event can be recorded, nobody knows when the visitor's work is done.
TEST_F(CudaAllocator, BlocksRestUntilTheirVisitorsCanBeMarked) {
  void* a = allocator.allocate(kMiB, stream(0));
  allocator.record_stream(a, stream(1));
  machine.alive = false;
  allocator.deallocate(a);
  EXPECT_NE(allocator.allocate(kMiB, stream(0)), a);
  machine.alive = true;
  EXPECT_NE(allocator.allocate(kMiB, stream(0)), a) << "it is marked now, and not done";
  machine.finish_all();
  EXPECT_EQ(allocator.allocate(kMiB, stream(0)), a);
}

// Thousands of random steps: live blocks never overlap, the counts agree, and in the end all of it
// comes back.
TEST_F(CudaAllocator, RandomUseKeepsTheRules) {
  std::mt19937 random(7);
  struct Live {
    char* data;
    int64_t bytes;
  };
  std::vector<Live> live;
  for (int step = 0; step < 4000; ++step) {
    const uint32_t dice = random() % 10;
    if (dice < 5 && live.size() < 40) {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % (random() % 2 ? 5000 : 600000));
      const int home = static_cast<int>(random() % 3);
      char* data = static_cast<char*>(allocator.allocate(bytes, stream(home)));
      for (const Live& other : live) {
        ASSERT_TRUE(data + bytes <= other.data || other.data + other.bytes <= data);
      }
      live.push_back({data, bytes});
    } else if (dice < 9 && !live.empty()) {
      const size_t i = random() % live.size();
      if (random() % 3 == 0) {
        allocator.record_stream(live[i].data, stream(static_cast<int>(random() % 4)));
      }
      allocator.deallocate(live[i].data);
      live[i] = live.back();
      live.pop_back();
    } else if (random() % 4 == 0) {
      machine.finish_all();
    } else if (random() % 8 == 0) {
      allocator.empty_cache();
    }
    int64_t wanted = 0;
    for (const Live& block : live) wanted += block.bytes;
    ASSERT_GE(allocator.stats().bytes_in_use, wanted);
    ASSERT_GE(machine.taken, allocator.stats().bytes_in_use);
  }
  for (const Live& block : live) allocator.deallocate(block.data);
  machine.finish_all();
  allocator.empty_cache();
  EXPECT_EQ(machine.taken, 0);
  EXPECT_EQ(machine.events.size(), 0u);
  EXPECT_EQ(allocator.stats().bytes_in_use, 0);
}
