#include <aorta/core/heap.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace aorta::cpu {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(Heap, JoinsAndCuts) {
  Heap heap;
  char* const a = static_cast<char*>(heap.take(3 * kMiB));
  char* const b = static_cast<char*>(heap.take(5 * kMiB));
  char* const c = static_cast<char*>(heap.take(kMiB));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 4096, 0u);
  EXPECT_EQ(b, a + 3 * kMiB);
  EXPECT_EQ(c, b + 5 * kMiB);
  EXPECT_EQ(heap.bytes_free(), 0);
  heap.give(a, 3 * kMiB);
  heap.give(b, 5 * kMiB);  // joins a
  EXPECT_EQ(heap.bytes_free(), 8 * kMiB);
  EXPECT_EQ(heap.take(7 * kMiB), a);
  EXPECT_EQ(heap.take(kMiB), a + 7 * kMiB);  // what was left of them
  EXPECT_EQ(heap.bytes_free(), 0);
  heap.give(c, kMiB);
  EXPECT_EQ(heap.take(2 * kMiB), c);  // with memory that nobody had yet
  EXPECT_EQ(heap.segments(), 1);
  heap.clear();
}

// The smallest block that is large enough.
TEST(Heap, TakesTheBestFit) {
  Heap heap;
  std::vector<void*> blocks;
  const int64_t sizes[] = {8 * kMiB, 4096, 2 * kMiB, 4096, 4 * kMiB, 4096};
  for (const int64_t size : sizes) blocks.push_back(heap.take(size));
  for (const size_t i : {size_t{0}, size_t{2}, size_t{4}}) heap.give(blocks[i], sizes[i]);
  EXPECT_EQ(heap.take(3 * kMiB), blocks[4]);
  EXPECT_EQ(heap.take(2 * kMiB), blocks[2]);
  EXPECT_EQ(heap.take(2 * kMiB), blocks[0]);
  heap.clear();
}

// Blocks of random sizes in random order: none overlaps another, their contents stay, and in the
// end all is one again.
TEST(Heap, RandomBlocks) {
  struct Block {
    char* data;
    int64_t bytes;
    char mark;
  };
  Heap heap;
  std::vector<Block> blocks;
  std::mt19937 random(3);
  int64_t in_use = 0, most = 0;
  const auto give = [&](size_t i) {
    const Block block = blocks[i];
    for (int64_t at = 0; at < block.bytes; at += 4096) ASSERT_EQ(block.data[at], block.mark);
    heap.give(block.data, block.bytes);
    in_use -= block.bytes;
    blocks[i] = blocks.back();
    blocks.pop_back();
  };
  for (int i = 0; i < 4000; ++i) {
    if (blocks.size() < 40 && random() % 5 != 0) {
      const int64_t bytes = Heap::rounded(1 + static_cast<int64_t>(random() % (4 * kMiB)));
      char* const data = static_cast<char*>(heap.take(bytes));
      ASSERT_NE(data, nullptr);
      const char mark = static_cast<char>(i);
      for (int64_t at = 0; at < bytes; at += 4096) data[at] = mark;
      blocks.push_back({data, bytes, mark});
      in_use += bytes;
      most = std::max(most, in_use);
    } else if (!blocks.empty()) {
      give(random() % blocks.size());
    }
  }
  while (!blocks.empty()) give(blocks.size() - 1);
  EXPECT_GE(heap.bytes_free(), most);
  EXPECT_LT(heap.bytes_free(), most * 3 / 2);
  heap.clear();
  EXPECT_EQ(heap.bytes_free(), 0);
}

TEST(Heap, NothingWhereTheSystemHasNoMore) {
  Heap heap;
  EXPECT_EQ(heap.take(int64_t{1} << 47), nullptr);
  void* const data = heap.take(kMiB);
  ASSERT_NE(data, nullptr);
  std::memset(data, 1, kMiB);
  heap.give(data, kMiB);
  heap.clear();
}

}  // namespace
}  // namespace aorta::cpu
