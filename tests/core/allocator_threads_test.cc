#include <aorta/core/allocator.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace aorta::cpu {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCaches = false;  // so that the sanitizer sees every use after free
#else
constexpr bool kCaches = true;
#endif

TEST(Allocator, AlignedAndApart) {
  std::vector<std::pair<char*, int64_t>> blocks;
  for (int64_t bytes = 1; bytes < 3000000; bytes += 1 + bytes / 7) {
    char* data = static_cast<char*>(allocate(bytes));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u) << bytes;
    std::memset(data, static_cast<int>(blocks.size()), static_cast<size_t>(bytes));
    blocks.emplace_back(data, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [data, bytes] = blocks[i];
    EXPECT_EQ(data[0], static_cast<char>(i));
    EXPECT_EQ(data[bytes - 1], static_cast<char>(i));
    deallocate(data, bytes);
  }
}

TEST(Allocator, CountsReturnToWhereTheyWere) {
  const int64_t before = allocator_stats().bytes_in_use;
  {
    const Tensor small = empty({10}), large = empty({1 << 20});
    const int64_t now = allocator_stats().bytes_in_use;
    EXPECT_GE(now - before, 40 + (4 << 20));
    EXPECT_LE(now - before, (4 << 20) * 9 / 8 + 4096);  // at most 12.5 % over, and two tensors' own
    const Tensor view = large.slice(0, 5);
    EXPECT_LE(allocator_stats().bytes_in_use - now, 1024);
  }
  EXPECT_EQ(allocator_stats().bytes_in_use, before);
  reset_peak_bytes();
  EXPECT_EQ(allocator_stats().peak_bytes, before);
  deallocate(allocate(1 << 20), 1 << 20);
  EXPECT_GE(allocator_stats().peak_bytes, before + (1 << 20));
  EXPECT_EQ(allocator_stats().bytes_in_use, before);
}

TEST(Allocator, NoBytes) {
  EXPECT_EQ(allocate(0), nullptr);
  EXPECT_EQ(allocate(-5), nullptr);
  deallocate(nullptr, 0);
  deallocate(nullptr, 100);
}

TEST(Allocator, ReusesBlocks) {
  if (!kCaches) GTEST_SKIP() << "nothing is cached under a sanitizer";
  for (int64_t bytes :
       {int64_t{1}, int64_t{64}, int64_t{1000}, int64_t{65536}, int64_t{65537}, int64_t{5} << 20}) {
    void* first = allocate(bytes);
    deallocate(first, bytes);
    const int64_t calls = allocator_stats().system_calls;
    for (int i = 0; i < 10; ++i) {
      void* again = allocate(bytes);
      EXPECT_EQ(again, first) << bytes;
      deallocate(again, bytes);
    }
    EXPECT_EQ(allocator_stats().system_calls, calls);
  }
}

TEST(Allocator, EmptyCacheGivesBack) {
  if (!kCaches) GTEST_SKIP() << "nothing is cached under a sanitizer";
  deallocate(allocate(9 << 20), 9 << 20);
  EXPECT_GE(allocator_stats().bytes_cached, 9 << 20);
  empty_cache();
  EXPECT_EQ(allocator_stats().bytes_cached, 0);
  void* data = allocate(9 << 20);
  std::memset(data, 1, 9 << 20);
  deallocate(data, 9 << 20);
}

TEST(Allocator, TooMuchIsAnError) {
  const int64_t before = allocator_stats().bytes_in_use;
  EXPECT_EQ(error_of([] { allocate((int64_t{1} << 46) + 1); }),
            "allocate: a tensor has at most 2^46 bytes, got 70368744177665");
  const std::string text =
      error_of([] { deallocate(allocate(int64_t{1} << 46), int64_t{1} << 46); });
  EXPECT_EQ(
      text.find("allocate: the machine has no more memory, got 70368744177664 bytes wanted, "), 0u)
      << text;
  EXPECT_EQ(allocator_stats().bytes_in_use, before);
}

// Blocks that one thread takes and another frees, and threads that end with blocks in their lists.
TEST(Allocator, AcrossThreads) {
  const int64_t before = allocator_stats().bytes_in_use;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::vector<std::pair<void*, int64_t>>> taken(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int i = 0; i < 500; ++i) {
          const int64_t bytes =
              1 + static_cast<int64_t>(random() % (i % 50 == 0 ? 3000000u : 5000u));
          void* data = allocate(bytes);
          std::memset(data, static_cast<int>(t), static_cast<size_t>(std::min<int64_t>(bytes, 64)));
          if (i % 3 == 0) {
            deallocate(data, bytes);
          } else {
            taken[t].emplace_back(data, bytes);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (const auto& [data, bytes] : taken[(t + 1) % 4]) {
          EXPECT_EQ(static_cast<char*>(data)[0], static_cast<char>((t + 1) % 4));
          deallocate(data, bytes);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(allocator_stats().bytes_in_use, before);
}

TEST(Allocator, AThreadsBlocksOutliveIt) {
  if (!kCaches) GTEST_SKIP() << "nothing is cached under a sanitizer";
  constexpr int64_t bytes = 48000;
  empty_cache();
  void* data = nullptr;
  std::thread([&] {
    data = allocate(bytes);
    deallocate(data, bytes);
  }).join();
  void* again = nullptr;
  std::thread([&] { again = allocate(bytes); }).join();
  EXPECT_EQ(again, data);  // found in what the first thread left behind
  deallocate(again, bytes);
}

TEST(Allocator, TensorsFreedByAnotherThread) {
  const int64_t before = allocator_stats().bytes_in_use;
  for (int i = 0; i < 20; ++i) {
    Tensor x = ones({1000 * (i + 1)});
    const Tensor view = x.slice(0, 0, 10);
    std::thread([moved = std::move(x)]() mutable { moved = Tensor(); }).join();
    EXPECT_EQ(view.to_vector<float>(), std::vector<float>(10, 1.0f));
  }
  EXPECT_EQ(allocator_stats().bytes_in_use, before);
}

}  // namespace
}  // namespace aorta::cpu
