#include <aorta/data/workers/ring.h>

#include <gtest/gtest.h>

namespace aorta::data {
namespace {

TEST(WorkerRing, AReaderThatCountsLateCountsForItsOwnBatch) {
  const auto specs =
      std::make_shared<const std::vector<TensorSpec>>(std::vector<TensorSpec>{{"index", i64, {}}});
  Ring ring({.slots = 1, .readers = 2, .capacity = 2}, specs);
  ring.open(1, 0, std::vector<int64_t>{0, 1});
  const auto early = ring.claim(0), late = ring.claim(1);
  ASSERT_TRUE(early && late);
  ring.finish(*early, false);
  EXPECT_FALSE(ring.count_down(*early));
  ring.finish(*late, false);

  // The loader, awake, finds both read and opens the next batch in the same slot.
  ring.open(2, 0, std::vector<int64_t>{2, 3});
  EXPECT_FALSE(ring.count_down(*late));
  for (const bool last : {false, true}) {
    const auto claim = ring.claim(0);
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->sequence, 2u);
    ring.finish(*claim, false);
    EXPECT_EQ(ring.count_down(*claim), last);
  }
}

}  // namespace
}  // namespace aorta::data
