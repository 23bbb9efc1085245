#include <aorta/core/device_backend.h>
#include <aorta/core/ops/copy.h>
#include <aorta/tests/data/worker_datasets.h>
#include <aorta/tests/error_text.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

// Batches on a device, against a device that is a program: its streams do their work as late as
// they may, and memory that is freed is overwritten at once. What isn't ordered by events shows.

namespace aorta::data {
namespace {

class LateDevice final : public DeviceBackend {
 public:
  struct Queue {
    std::deque<std::function<void()>> work;
  };
  struct Mark {
    Queue* queue = nullptr;
    bool done = false;
  };

  int device_count() override { return 1; }
  int current_device() override { return 0; }
  void set_current_device(int) override {}

  void* allocate(int64_t bytes, int) override {
    allocated += 1;
    void* data = std::malloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    owners_[data] = {current_, static_cast<size_t>(bytes), {}};
    return data;
  }
  // Freed in the order of its stream, and of those that were recorded.
  void deallocate(void* data, int64_t, int) override {
    const Block block = owners_.at(data);
    owners_.erase(data);
    for (Queue* queue : block.others) run(*queue);
    block.owner->work.push_back([data, block] {
      std::memset(data, 0xEE, block.bytes);
      std::free(data);
    });
  }
  void record_stream(void* data, Stream stream) override {
    ++recorded;
    owners_.at(data).others.insert(queue_of(stream));
  }
  MemoryStats memory_stats(int) override { return {}; }
  void reset_peak_memory(int) override {}
  void empty_cache() override {}

  void copy(void* to, Device, const void* from, Device, int64_t bytes, bool non_blocking) override {
    for (auto& [data, block] : pinned_)
      if (from >= data && from < static_cast<const char*>(data) + block.bytes)
        block.readers.insert(current_);
    current_->work.push_back([=] { std::memcpy(to, from, static_cast<size_t>(bytes)); });
    if (!non_blocking) run(*current_);
  }
  void fill_bytes(void* data, uint8_t value, int64_t bytes, int) override {
    current_->work.push_back([=] { std::memset(data, value, static_cast<size_t>(bytes)); });
  }

  void* allocate_pinned(int64_t bytes) override {
    void* data = std::malloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    pinned_[data].bytes = static_cast<size_t>(bytes);
    return data;
  }
  // What streams still read of it is read first. (Nobody knows that of a registered ring.)
  void deallocate_pinned(void* data, int64_t bytes) override {
    for (Queue* queue : pinned_.at(data).readers) run(*queue);
    pinned_.erase(data);
    std::memset(data, 0xEE, static_cast<size_t>(bytes));
    std::free(data);
  }
  void register_host(void* data, int64_t bytes) override {
    check(!refuses_to_lock, "register_host", "memory must be lockable", bytes);
    registered[data] = bytes;
  }
  void unregister_host(void* data) override {
    registered.erase(data);
    check_present();
  }

  Stream create_stream(int) override { return {Device(), new Queue}; }
  void destroy_stream(Stream stream) override {
    run(*queue_of(stream));
    delete queue_of(stream);
  }
  Stream current_stream(int) override { return {Device(), current_}; }
  void set_current_stream(Stream stream) override { current_ = queue_of(stream); }
  void synchronize_stream(Stream stream) override {
    check_present();
    run(*queue_of(stream));
  }
  void synchronize_device(int) override { run(main_); }
  Event create_event(int) override { return {Device(), new Mark}; }
  void destroy_event(Event event) override { late_.push_back(static_cast<Mark*>(event.handle)); }
  void record_event(Event event, Stream stream) override {
    auto* mark = static_cast<Mark*>(event.handle);
    mark->queue = queue_of(stream);
    mark->queue->work.push_back([mark] { mark->done = true; });
  }
  void wait_event(Event event, Stream stream) override {
    auto* mark = static_cast<Mark*>(event.handle);
    queue_of(stream)->work.push_back([this, mark] {
      while (!mark->done) step(*mark->queue);
    });
  }
  bool event_done(Event event) override { return static_cast<Mark*>(event.handle)->done; }

  size_t waiting(Queue* queue) const { return queue->work.size(); }
  Queue* main() { return &main_; }

  int allocated = 0, recorded = 0;
  bool lost = false, refuses_to_lock = false;
  std::map<void*, int64_t> registered;

 private:
  void check_present() const { check(!lost, "device", "a device must be there", "a lost one"); }
  struct Block {
    Queue* owner;
    size_t bytes;
    std::set<Queue*> others;
  };
  struct Pinned {
    size_t bytes = 0;
    std::set<Queue*> readers;
  };
  Queue* queue_of(Stream stream) {
    return stream.handle ? static_cast<Queue*>(stream.handle) : &main_;
  }
  static void step(Queue& queue) {
    if (queue.work.empty()) std::abort();  // waits for what nobody will do
    auto work = std::move(queue.work.front());
    queue.work.pop_front();
    work();
  }
  static void run(Queue& queue) {
    while (!queue.work.empty()) step(queue);
  }

  Queue main_;
  Queue* current_ = &main_;
  std::map<void*, Block> owners_;
  std::map<const void*, Pinned> pinned_;
  std::vector<Mark*> late_;  // a queue may still have work with them
};

LateDevice& device() {
  static auto* instance = [] {
    auto* made = new LateDevice;
    register_backend(DeviceType::cuda, made);
    return made;
  }();
  return *instance;
}

std::string on_host(const Batch& batch) { return text_of(batch.to("cpu")); }

TEST(Stager, BatchesArriveWhole) {
  device();
  DataLoader alone(make_dataset<Numbers>(60), {.batch_size = 4, .shuffle = true, .seed = 2});
  std::vector<std::string> expected;
  for (const auto& batch : alone) expected.push_back(text_of(batch));
  for (const int workers : {0, 2})
    for (const bool pin : {false, true}) {
      DataLoader loader(make_dataset<Numbers>(60), {.batch_size = 4,
                                                    .shuffle = true,
                                                    .num_workers = workers,
                                                    .pin_memory = pin,
                                                    .seed = 2,
                                                    .device = "cuda:0"});
      const int recorded = device().recorded;
      size_t i = 0;
      for (const auto& batch : loader) {
        EXPECT_EQ(batch["index"].device(), Device("cuda:0"));
        // The program's stream has work of its own between the batches.
        EXPECT_EQ(on_host(batch), expected.at(i++));
        usleep(500);
      }
      EXPECT_EQ(i, expected.size());
      EXPECT_EQ(device().recorded - recorded, 3 * 15);  // each tensor, for the program's stream
    }
}

TEST(Stager, BatchesThatAreKeptStay) {
  device();
  DataLoader alone(make_dataset<Numbers>(40), {.batch_size = 4, .seed = 2});
  std::vector<std::string> expected;
  for (const auto& batch : alone) expected.push_back(text_of(batch));
  DataLoader loader(
      make_dataset<Numbers>(40),
      {.batch_size = 4, .num_workers = 2, .pin_memory = true, .seed = 2, .device = "cuda"});
  std::vector<Batch> kept;
  for (const auto& batch : loader) kept.push_back(batch);
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(on_host(kept[i]), expected.at(i));
}

TEST(Stager, TheNextBatchIsQueuedWhileTheProgramWorks) {
  device();
  struct Counting : Dataset {
    int64_t size() const override { return 12; }
    std::vector<TensorSpec> specs() const override { return {{"x", i64, {}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      sample["x"].fill_(index);
    }
  };
  DataLoader loader(std::make_shared<Counting>(),
                    {.batch_size = 2, .num_workers = 1, .device = "cuda:0"});
  auto it = loader.begin();
  usleep(200'000);  // the worker is ahead
  int before = device().allocated;
  const auto newly_staged = [&] {
    return device().allocated - std::exchange(before, device().allocated);
  };
  *it;
  EXPECT_EQ(newly_staged(), 2);  // this one and the next
  EXPECT_EQ((*it)["x"].to("cpu").to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
  ++it;
  EXPECT_EQ((*it)["x"].to("cpu").to_vector<int64_t>(), (std::vector<int64_t>{2, 3}));
  usleep(200'000);
  // A program that says when has each batch copied there.
  it.prefetch();
  newly_staged();
  for (int64_t i = 4; i < 12; i += 2) {
    it.prefetch();
    EXPECT_EQ(newly_staged(), i == 4 ? 0 : 1) << i;            // once each
    EXPECT_EQ(loader.state().get<int64_t>("batches"), i / 2);  // the copy isn't given yet
    ++it;
    EXPECT_EQ((*it)["x"].to("cpu").to_vector<int64_t>(), (std::vector<int64_t>{i, i + 1}));
    EXPECT_EQ(newly_staged(), 0) << i;
    usleep(200'000);
  }
  it.prefetch();
  ++it;
  EXPECT_TRUE(it == loader.end());
}

TEST(Stager, TransformsRunWhereTheBatchIs) {
  device();
  const auto rename = [](const Batch& batch) { return Batch({{"y", batch["index"]}}); };
  for (const int workers : {0, 1}) {
    DataLoader loader(
        make_dataset<Numbers>(4),
        {.batch_size = 2, .num_workers = workers, .device = "cuda:0", .batch_transform = rename});
    const Batch batch = *loader.begin();
    EXPECT_EQ(batch["y"].to("cpu").to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
  }
}

// What a transform reads beside the batch may be what the program has just asked its stream for.
TEST(Stager, TransformsReadWhatTheProgramHasMade) {
  const Device there("cuda:0");
  device();
  const Tensor seven = tensor({int64_t{7}}), made = empty({1}, {.dtype = i64, .device = there});
  device().copy(made.data(), there, seven.data(), {}, seven.nbytes(), true);
  const auto read = [&](const Batch&) {
    const Tensor copy = empty({1}, {.dtype = i64, .device = there});
    device().copy(copy.data(), there, made.data(), there, copy.nbytes(), false);
    return Batch({{"y", copy}});
  };
  DataLoader loader(make_dataset<Numbers>(4),
                    {.batch_size = 2, .device = there, .batch_transform = read});
  EXPECT_EQ((*loader.begin())["y"].to("cpu").to_vector<int64_t>(), std::vector<int64_t>{7});
}

// Where a device is lost, the program's own catch has the last word.
TEST(Stager, ALostDeviceEndsNoProgram) {
  device();
  const auto train = [] {
    DataLoader loader(make_dataset<Numbers>(20),
                      {.batch_size = 4, .num_workers = 1, .pin_memory = true, .device = "cuda:0"});
    auto it = loader.begin();
    *it;
    device().lost = true;
    device().synchronize_stream({});
  };
  EXPECT_EQ(error_of(train), "device: a device must be there, got a lost one");
  device().lost = false;
}

// The program's own copies are done late, when workers have long written what comes behind.
TEST(Stager, PinnedBatchesStayForCopiesOfTheProgramsOwn) {
  device();
  for (const int workers : {0, 2}) {
    DataLoader loader(make_dataset<Numbers>(60),
                      {.batch_size = 4, .num_workers = workers, .pin_memory = true, .seed = 2});
    std::vector<Batch> moved;
    for (const auto& batch : loader) {
      EXPECT_TRUE(batch["index"].is_pinned());
      moved.push_back(batch.to("cuda:0", true));
    }
    DataLoader alone(make_dataset<Numbers>(60), {.batch_size = 4, .seed = 2});
    size_t i = 0;
    for (const auto& batch : alone) EXPECT_EQ(on_host(moved.at(i++)), text_of(batch)) << workers;
  }
}

TEST(Stager, TheRingIsLockedOnceAndLetGo) {
  device();
  {
    DataLoader loader(make_dataset<Numbers>(20),
                      {.batch_size = 4, .num_workers = 1, .pin_memory = true, .device = "cuda:0"});
    for (int epoch = 0; epoch < 3; ++epoch)
      for (const auto& batch : loader) {
        EXPECT_EQ(batch["index"].device(), Device("cuda:0"));
        EXPECT_EQ(device().registered.size(), 1u);
      }
  }
  EXPECT_TRUE(device().registered.empty());
  DataLoader local(make_dataset<Numbers>(4), {.pin_memory = true});
  EXPECT_TRUE((*local.begin())["index"].is_pinned());
}

TEST(Stager, ARingThatCantBeLockedIsReadAsItIs) {
  device().refuses_to_lock = true;
  std::string said;
  for (int loaders = 0; loaders < 2; ++loaders) {
    ::testing::internal::CaptureStderr();
    DataLoader loader(make_dataset<Numbers>(20),
                      {.batch_size = 4, .num_workers = 1, .pin_memory = true, .device = "cuda:0"});
    int64_t next = 0;
    for (const auto& batch : loader) {
      for (const int64_t index : batch["index"].to("cpu").to_vector<int64_t>())
        EXPECT_EQ(index, next++);
    }
    EXPECT_EQ(next, 20);
    said += ::testing::internal::GetCapturedStderr();
  }
  device().refuses_to_lock = false;
  const size_t line = said.find("aorta: data_loader: slots that a GPU copies from are page-locked");
  ASSERT_NE(line, std::string::npos) << said;
  EXPECT_NE(said.find("got register_host: memory must be lockable, got "), std::string::npos)
      << said;
  EXPECT_EQ(said.find("page-locked", line + 80), std::string::npos) << "once";
}

}  // namespace
}  // namespace aorta::data
