// Memory that the caching allocator keeps, or gives out again: to the runtime it is allocated, and
// what was written to it stays. The allocator says what is somebody's (NVTX's memory API), so that
// the use of the rest is seen.
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/tensor.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

class CachedMemory : public testing::TestWithParam<emulated::Mode> {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(GetParam()); }
  void TearDown() override {
    emulated::Streams::get().set_mode(emulated::Mode::lazy);
    synchronize("cuda:0");
    device().empty_cache();
  }
  static DeviceBackend& device() { return backend(DeviceType::cuda); }

  /// A tensor at memory that it doesn't hold.
  static Tensor at(void* data, int64_t count) {
    return from_blob(data, {count}, {.device = "cuda"});
  }

  /// The rules that `work` breaks, once all that it queued is done.
  template <class Work>
  static std::string found(const Work& work) {
    emulated::Collector collector;
    try {
      work();
      synchronize("cuda:0");
    } catch (const Error&) {
      // What stays of a kernel that was given up.
    }
    std::string all;
    for (const std::string& text : collector.take()) all += text + "\n";
    emulated::Streams::get().reset();
    return all;
  }
  template <class Work>
  static testing::AssertionResult finds(const std::string& text, const Work& work) {
    const std::string all = found(work);
    if (all.find(text) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "found: " << all;
  }
};

constexpr int64_t kSmall = 1000, kLarge = 1 << 20;  // a piece of a slab, and memory of its own

std::string mode_name(const testing::TestParamInfo<emulated::Mode>& test) {
  const char* const names[] = {"Eager", "Lazy", "Random", "Threads"};
  return names[static_cast<int>(test.param)];
}

}  // namespace

TEST_P(CachedMemory, FreedBlocksAreRead) {
  for (const int64_t count : {kSmall, kLarge}) {
    void* freed = nullptr;
    {
      const Tensor x = ones({count}, {.device = "cuda"});
      freed = x.data();
    }
    EXPECT_TRUE(finds("a kernel touches memory that is allocated, got a read of",
                      [&] { at(freed, 10) + 1.0; }));
    EXPECT_TRUE(finds("memory of cuda:0 that its allocator keeps", [&] { at(freed, 1).cpu(); }));
    EXPECT_TRUE(finds("memory of cuda:0 that its allocator keeps",
                      [&] { device().fill_bytes(freed, 0, 4, 0); }));
  }
}

TEST_P(CachedMemory, RecycledBlocksAreReadBeforeTheyAreWritten) {
  for (const int64_t count : {kSmall, kLarge}) {
    const void* before = ones({count}, {.device = "cuda"}).data();
    const Tensor x = empty({count}, {.device = "cuda"});
    ASSERT_EQ(x.data(), before);
    EXPECT_TRUE(finds("memory is written before it is read, got a read of", [&] { x + 1.0; }));
    EXPECT_TRUE(finds("bytes never written", [&] { x.cpu(); }));
    x.narrow(0, 0, count - 1).fill_(1.0);
    EXPECT_TRUE(finds("memory is written before it is read", [&] { x + 1.0; })) << "but the last";
    x.narrow(0, count - 1, 1).fill_(1.0);
    EXPECT_EQ(found([&] { EXPECT_EQ((x + 1.0).cpu().at<float>({count - 1}), 2.0f); }), "");
  }
}

// A block is rounded up: what lies behind the bytes that were asked for is nobody's.
TEST_P(CachedMemory, BlocksAreReadPastTheirEnd) {
  const Tensor x = ones({kSmall}, {.device = "cuda"});
  EXPECT_TRUE(
      finds("a kernel touches memory that is allocated", [&] { at(x.data(), kSmall + 1) + 1.0; }));
  EXPECT_EQ(found([&] { x + 1.0; }), "");
}

// Work sees memory as it was when the work was queued: its block may have been freed since, and
// given out again, by the same stream or, once an event says that it is done, by another.
TEST_P(CachedMemory, WorkThatIsQueuedIsNotBlamed) {
  const std::string rules = found([&] {
    const Stream side = device().create_stream(0);
    for (int round = 0; round < 20; ++round) {
      Tensor sum = zeros({kSmall}, {.device = "cuda"});
      for (int i = 0; i < 10; ++i) sum = sum + full({kSmall}, 1.0, {.device = "cuda"});
      Tensor copy;
      {
        const Tensor read = sum * 2.0;
        synchronize("cuda:0");
        device().record_stream(read.data(), side);
        device().set_current_stream(side);
        copy = read.clone();
        device().set_current_stream({Device("cuda:0"), nullptr});
      }
      const Tensor other = full({kSmall}, 5.0, {.device = "cuda"}) + sum;
      EXPECT_EQ(other.cpu().at<float>({kSmall - 1}), 15.0f);
      device().synchronize_stream(side);
      EXPECT_EQ(copy.cpu().at<float>({0}), 20.0f);
      device().record_stream(copy.data(), device().current_stream(0));
    }
    device().destroy_stream(side);
  });
  EXPECT_EQ(rules, "");
}

INSTANTIATE_TEST_SUITE_P(Modes, CachedMemory,
                         testing::Values(emulated::Mode::eager, emulated::Mode::lazy,
                                         emulated::Mode::random, emulated::Mode::threads),
                         mode_name);

}  // namespace aorta
