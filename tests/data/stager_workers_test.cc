// Batches of worker processes on a device: the slots of their ring are page-locked, copied from on
// the side, and written anew by the workers, all while the program's own work is queued.
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/process/init.h>
#include <aorta/data/loader.h>
#include <aorta/tests/needs_gpu.h>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace aorta::data {
namespace {

// As a program does first, so that workers are forked from a process that has no device.
const bool is_begun = [] {
  const char* const name = "stager_workers";
  init(1, &name);
  return true;
}();

using StagerWorkers = NeedsGpu;

constexpr int64_t kPixels = 3000, kBatch = 4;

/// Sample i: "index" i, "pixels" numbers that tell samples and places apart.
class Pictures : public Dataset {
 public:
  /// The worker that reads sample `killed` is killed, the first time; -1: none is.
  explicit Pictures(int64_t size, int64_t killed = -1) : size_(size), killed_(killed) {
    if (killed >= 0) flag_ = ::testing::TempDir() + "stager_killed_" + std::to_string(getpid());
    remove(flag_.c_str());
  }

  int64_t size() const override { return size_; }
  std::vector<TensorSpec> specs() const override {
    return {{"index", i64, {}}, {"pixels", u8, {kPixels}}};
  }
  void read(int64_t index, Sample& sample, Generator& random) const override {
    if (index == killed_ && access(flag_.c_str(), F_OK) != 0) {
      fclose(fopen(flag_.c_str(), "w"));
      raise(SIGKILL);
    }
    *sample["index"].data<int64_t>() = index;
    auto* pixels = sample["pixels"].data<uint8_t>();
    for (int64_t i = 0; i < kPixels; ++i)
      pixels[i] =
          static_cast<uint8_t>(7 * index + i + static_cast<int64_t>(2 * random.next_uniform()));
  }

 private:
  int64_t size_, killed_;
  std::string flag_;
};

DataLoaderOptions options_with(int workers, bool pins) {
  return {.batch_size = kBatch,
          .shuffle = true,
          .num_workers = workers,
          .pin_memory = pins,
          .prefetch_factor = workers ? std::optional(2) : std::nullopt,
          .persistent_workers = workers > 0,
          .seed = 5};
}

/// What three epochs' batches hold, in their order.
std::vector<Tensor> expected_of(int64_t size) {
  DataLoader loader(make_dataset<Pictures>(size), options_with(0, false));
  std::vector<Tensor> all;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const Batch& batch : loader) all.push_back(batch["pixels"].clone());
  return all;
}

/// Reads by way of the device. The program only queues work that reads the batches, drops all
/// but each third, and looks at nothing before the end.
void expect_whole(std::shared_ptr<const Dataset> data, const DataLoaderOptions& given,
                  const std::vector<Tensor>& expected) {
  DataLoaderOptions options = given;
  options.device = "cuda:0";
  options.batch_transform = [](const Batch& batch) {
    return Batch({{"twice", batch["pixels"].to(f32) * 2}, {"pixels", batch["pixels"]}});
  };
  DataLoader loader(std::move(data), options);
  std::vector<Tensor> computed, kept;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const Batch& batch : loader) {
      ASSERT_EQ(batch["twice"].device(), Device("cuda:0"));
      if (computed.size() % 3 == 0) kept.push_back(batch["pixels"]);
      computed.push_back(batch["twice"] + 1);
    }
  ASSERT_EQ(computed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(equal(computed[i].cpu(), expected[i].to(f32) * 2 + 1)) << "batch " << i;
    if (i % 3 == 0) {
      EXPECT_TRUE(equal(kept[i / 3].cpu(), expected[i])) << "batch " << i;
    }
  }
}

}  // namespace

TEST_F(StagerWorkers, BatchesArriveWhole) {
  ASSERT_TRUE(is_begun);
  const std::vector<Tensor> expected = expected_of(41);
  for (const int workers : {1, 3})
    for (const bool pins : {true, false})
      expect_whole(make_dataset<Pictures>(41), options_with(workers, pins), expected);
}

TEST_F(StagerWorkers, AKilledWorkersBatchesComeFromAnother) {
  expect_whole(make_dataset<Pictures>(41, 17), options_with(2, true), expected_of(41));
}

// Slots that the program copies itself, on a stream that is late.
TEST_F(StagerWorkers, PinnedBatchesStayForTheProgramsCopies) {
  const std::vector<Tensor> expected = expected_of(41);
  DataLoader loader(make_dataset<Pictures>(41), options_with(2, true));
  std::vector<Tensor> moved;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const Batch& batch : loader) {
      EXPECT_TRUE(batch["pixels"].is_pinned());
      moved.push_back(batch["pixels"].to("cuda:0", true));
    }
  ASSERT_EQ(moved.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(equal(moved[i].cpu(), expected[i])) << "batch " << i;
}

}  // namespace aorta::data
