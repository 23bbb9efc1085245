#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/process/limits.h>
#include <aorta/core/process/zygote.h>
#include <aorta/data/stages.h>
#include <aorta/tests/data/worker_datasets.h>
#include <aorta/tests/data/worker_scenarios.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <thread>

#include <aorta/tests/error_text.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

using Indices = std::vector<int64_t>;

constexpr StartMethod kMethods[] = {StartMethod::zygote, StartMethod::spawn, StartMethod::fork};

TEST(Workers, GiveTheSameBitsForAnyNumberOfThem) {
  DataLoader alone(make_dataset<Numbers>(101), {.batch_size = 8, .shuffle = true, .seed = 3});
  const std::string first = text_of(alone), second = text_of(alone);
  EXPECT_NE(first, second);
  for (const StartMethod method : kMethods)
    for (const int workers : {1, 2, 8}) {
      DataLoader loader(make_dataset<Numbers>(101), {.batch_size = 8,
                                                     .shuffle = true,
                                                     .num_workers = workers,
                                                     .seed = 3,
                                                     .start_method = method});
      EXPECT_EQ(loader.size(), 13);
      EXPECT_EQ(text_of(loader), first) << workers;
      EXPECT_EQ(text_of(loader), second) << workers;
    }
}

// More than the messages that a socket holds both ways.
TEST(Workers, MayBeManyHundreds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "600 processes under a sanitizer take too much memory";
#endif
  if (available_memory_bytes() < int64_t{4} << 30) GTEST_SKIP() << "there is too little memory";
  DataLoader alone(make_dataset<Numbers>(2000), {.batch_size = 2, .seed = 3});
  DataLoader loader(make_dataset<Numbers>(2000),
                    {.batch_size = 2, .num_workers = 600, .prefetch_factor = 1, .seed = 3});
  EXPECT_EQ(text_of(loader), text_of(alone));
}

TEST(Workers, StayForTheNextEpochWhenAsked) {
  DataLoader alone(make_dataset<Numbers>(30), {.batch_size = 4, .seed = 3});
  for (const StartMethod method : kMethods) {
    alone.set_epoch(0);
    DataLoader loader(make_dataset<Numbers>(30), {.batch_size = 4,
                                                  .num_workers = 2,
                                                  .persistent_workers = true,
                                                  .seed = 3,
                                                  .start_method = method});
    for (int epoch = 0; epoch < 4; ++epoch) EXPECT_EQ(text_of(loader), text_of(alone));
    // Left early, twice.
    for (int i = 0; i < 2; ++i) {
      for (const auto& batch : loader) {
        EXPECT_EQ(batch["index"].size(0), 4);
        break;
      }
      text_of(alone);
    }
    EXPECT_EQ(text_of(loader), text_of(alone));
  }
}

TEST(Workers, AnErrorNamesSampleFileAndWorkerAndTheNextBatchComes) {
  for (const StartMethod method : kMethods) {
    DataLoader loader(make_dataset<Numbers>(12, Trouble::error, 5),
                      {.batch_size = 4, .num_workers = 2, .start_method = method});
    auto it = loader.begin();
    EXPECT_EQ((*it)["index"].to_vector<int64_t>(), (Indices{0, 1, 2, 3}));
    ++it;
    for (int i = 0; i < 2; ++i) {
      try {
        *it;
        FAIL();
      } catch (const SampleError& error) {
        EXPECT_EQ(error.fault().sample, 5);
        EXPECT_EQ(error.fault().type, "aorta::Error");
        EXPECT_EQ(error.fault().message, "numbers: index must be readable, got 5");
        EXPECT_EQ(error.fault().file, "number_5");
        const std::string worker = std::to_string(error.fault().worker);
        EXPECT_EQ(std::string(error.what()), "sample 5 (number_5, worker " + worker +
                                                 "): numbers: index must be readable, got 5");
      }
    }
    ++it;
    EXPECT_EQ((*it)["index"].to_vector<int64_t>(), (Indices{8, 9, 10, 11}));
    ++it;
    EXPECT_TRUE(it == loader.end());
  }
  DataLoader other(make_dataset<Numbers>(2, Trouble::out_of_range, 1),
                   {.batch_size = 2, .num_workers = 1});
  EXPECT_EQ(error_of([&] { *other.begin(); }),
            "sample 1 (number_1, worker 0): std::out_of_range: no such number");
}

TEST(Workers, ABatchOfSeveralFailuresNamesTheFirst) {
  struct AllBad : Dataset {
    int64_t size() const override { return 32; }
    std::vector<TensorSpec> specs() const override { return {{"x", f32, {}}}; }
    void read(int64_t index, Sample&, Generator&) const override {
      fail("bad", "it is bad", index);
    }
  };
  DataLoader loader(std::make_shared<AllBad>(), {.batch_size = 16, .num_workers = 4});
  auto it = loader.begin();
  EXPECT_EQ(error_of([&] { *it; }).substr(0, 10), "sample 0 (");
  ++it;
  EXPECT_EQ(error_of([&] { *it; }).substr(0, 11), "sample 16 (");
  ++it;
  EXPECT_TRUE(it == loader.end());
}

TEST(Workers, ResumeInTheMiddleOfAnEpochWithAnyNumber) {
  const auto options = [](int workers) {
    return DataLoaderOptions{.batch_size = 3, .shuffle = true, .num_workers = workers, .seed = 8};
  };
  const auto dataset = make_dataset<Numbers>(50);  // 17 batches
  DataLoader whole(dataset, options(0));
  std::vector<std::string> texts;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const auto& batch : whole) texts.push_back(text_of(batch));
  for (size_t stop = 0; stop < 20; ++stop) {
    constexpr int kWorkers[] = {0, 1, 2, 8};
    const int before = kWorkers[stop % 4], after = kWorkers[(stop + 1 + stop / 4) % 4];
    DataLoader loader(dataset, options(before));
    size_t given = 0;
    State state = loader.state();
    for (int epoch = 0; epoch < 2 && given < stop; ++epoch)
      for (const auto& batch : loader) {
        EXPECT_EQ(text_of(batch), texts[given]);
        state = loader.state();
        if (++given == stop) break;
      }
    DataLoaderOptions other = options(after);
    other.seed = 77;
    DataLoader resumed(dataset, other);
    resumed.restore(state);
    while (given < texts.size()) {
      bool any = false;
      for (const auto& batch : resumed) {
        ASSERT_EQ(text_of(batch), texts[given]) << stop;
        ++given;
        any = true;
      }
      ASSERT_TRUE(any || given == 17);
    }
  }
}

TEST(Workers, AStateAfterAnErrorAsksForTheBatchAgain) {
  const auto good = make_dataset<Numbers>(12);
  for (const int workers : {0, 1, 2})
    for (const bool passed : {false, true}) {
      const DataLoaderOptions options{.batch_size = 3, .num_workers = workers, .seed = 8};
      DataLoader whole(good, options), bad(make_dataset<Numbers>(12, Trouble::error, 4), options);
      std::vector<std::string> texts;
      for (const auto& batch : whole) texts.push_back(text_of(batch));
      auto it = bad.begin();
      EXPECT_EQ(text_of(*it), texts[0]);
      ++it;
      EXPECT_THROW(*it, SampleError);
      EXPECT_THROW(*it, SampleError);
      if (passed) ++it;
      DataLoader resumed(good, options);
      resumed.restore(bad.state());
      size_t next = passed ? 2 : 1;
      for (const auto& batch : resumed) EXPECT_EQ(text_of(batch), texts.at(next++));
      EXPECT_EQ(next, texts.size());
    }
}

TEST(Workers, StateIsCheckedAgainstTheLoader) {
  DataLoader loader(make_dataset<Numbers>(50), {.batch_size = 5});
  const State state = loader.state();
  DataLoader smaller(make_dataset<Numbers>(40), {.batch_size = 5});
  EXPECT_EQ(error_of([&] { smaller.restore(state); }),
            "data_loader: a state must be of a dataset of the same size, got 50 samples for 40");
  EXPECT_EQ(error_of([&] { smaller.restore(State()); }).substr(0, 46),
            "state: names must be the object's, got missing");
  DataLoader larger(make_dataset<Numbers>(50), {.batch_size = 10});
  EXPECT_EQ(error_of([&] { larger.restore(state); }),
            "data_loader: a state must be of the same batch_size, got 5 for 10");
}

TEST(Workers, AStateAfterSetEpochIsOfThatEpoch) {
  DataLoader loader(make_dataset<Numbers>(50), {.batch_size = 5, .num_workers = 1});
  for (const auto& batch : loader) {
    batch["index"].size(0);
    break;
  }
  EXPECT_EQ(loader.state().get<int64_t>("epoch"), 0);
  EXPECT_EQ(loader.state().get<int64_t>("batches"), 1);
  loader.set_epoch(7);
  EXPECT_EQ(loader.state().get<int64_t>("epoch"), 7);
  EXPECT_EQ(loader.state().get<int64_t>("batches"), 0);
}

TEST(Workers, TwoIterationsAtOnce) {
  DataLoader alone(make_dataset<Numbers>(20), {.batch_size = 3, .seed = 1});
  const std::string first = text_of(alone), second = text_of(alone);
  DataLoader loader(make_dataset<Numbers>(20), {.batch_size = 3, .num_workers = 2, .seed = 1});
  auto a = loader.begin(), b = loader.begin();
  std::string a_text, b_text;
  while (a != loader.end()) {
    a_text += text_of(*a);
    b_text += text_of(*b);
    ++a;
    ++b;
  }
  EXPECT_EQ(a_text, first);
  EXPECT_EQ(b_text, second);
}

TEST(Workers, BatchesThatAreKeptKeepTheirValues) {
  DataLoader loader(make_dataset<Numbers>(60), {.batch_size = 4, .num_workers = 2, .seed = 1});
  std::vector<Batch> kept;
  for (const auto& batch : loader) kept.push_back(batch);
  DataLoader alone(make_dataset<Numbers>(60), {.batch_size = 4, .seed = 1});
  size_t i = 0;
  for (const auto& batch : alone) EXPECT_EQ(text_of(kept.at(i++)), text_of(batch));
  EXPECT_EQ(i, kept.size());
}

TEST(Workers, KnowWhoTheyAre) {
  struct Who : Dataset {
    int64_t size() const override { return 64; }
    std::vector<TensorSpec> specs() const override {
      return {{"id", i64, {}}, {"seed", i64, {}}, {"pid", i64, {}}, {"devices", i64, {}}};
    }
    void read(int64_t, Sample& sample, Generator&) const override {
      const WorkerInfo* info = worker_info();
      usleep(1000);
      sample["id"].fill_(info ? info->id : -1);
      sample["seed"].fill_(info ? static_cast<int64_t>(info->seed) : -1);
      sample["pid"].fill_(static_cast<int64_t>(getpid()));
      sample["devices"].fill_(cuda::is_available());
    }
  };
  DataLoader loader(std::make_shared<Who>(), {.batch_size = 64, .num_workers = 3, .seed = 100});
  const Batch batch = *loader.begin();
  const auto ids = batch["id"].to_vector<int64_t>();
  const auto seeds = batch["seed"].to_vector<int64_t>();
  const auto pids = batch["pid"].to_vector<int64_t>();
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(ids[i] >= 0 && ids[i] < 3);
    EXPECT_EQ(seeds[i], 100 + ids[i]);
    EXPECT_NE(pids[i], getpid());
  }
  EXPECT_EQ(batch["devices"].to_vector<int64_t>(), Indices(64, 0));
  EXPECT_EQ(worker_info(), nullptr);
}

TEST(Workers, TheirInitHookRunsAndItsErrorArrives) {
  const auto hook = [](const WorkerInfo& info) {
    if (info.id == 1) throw std::runtime_error("no licence");
  };
  DataLoader loader(make_dataset<Numbers>(64, Trouble::none, 0, "", 0.01),
                    {.batch_size = 64, .num_workers = 2, .worker_init = hook});
  EXPECT_NE(
      error_of([&] { *loader.begin(); }).find("couldn't start: std::runtime_error: no licence"),
      std::string::npos);
}

TEST(Workers, ADatasetThatCannotBeMadeIsAnError) {
  struct Fussy : Numbers {
    explicit Fussy(int pid) : Numbers(4) {
      check(getpid() == pid, "fussy", "only one process will do", getpid());
    }
  };
  DataLoader loader(make_dataset<Fussy>(getpid()), {.num_workers = 2});
  EXPECT_NE(error_of([&] {
              *loader.begin();
            }).find("they couldn't start: fussy: only one process will do"),
            std::string::npos);
}

// Reads slowly, some samples more so.
class Unhurried : public Numbers {
 public:
  Unhurried() : Numbers(160) {}
  void read(int64_t index, Sample& sample, Generator& random) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(2000 * (1 + 7 * index % 5)));
    Numbers::read(index, sample, random);
  }
};

TEST(Workers, AnEpochLeftEarlyLeavesNothingToTheNext) {
  for (const int workers : {1, 2, 3}) {
    const auto dataset = make_dataset<Unhurried>();
    DataLoader loader(dataset,
                      {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 3});
    DataLoader reference(make_dataset<Numbers>(160), {.batch_size = 4, .shuffle = true, .seed = 3});
    for (int epoch = 0; epoch < 12; ++epoch) {
      auto wanted = reference.begin();
      int left = 1 + 5 * epoch % 9;
      for (auto it = loader.begin(); left > 0; ++it, ++wanted, --left)
        ASSERT_EQ(text_of(*it), text_of(*wanted)) << workers << " workers, epoch " << epoch;
    }
  }
}

TEST(Workers, SayWhatIsWrongWithTheirOptions) {
  const auto numbers = make_dataset<Numbers>(4);
  const auto text = [&](const DataLoaderOptions& options) {
    return error_of([&] { DataLoader(numbers, options); });
  };
  EXPECT_EQ(text({.prefetch_factor = 2}),
            "data_loader: timeout, prefetch_factor, persistent_workers and reads_in_flight are for "
            "num_workers > 0, got num_workers 0");
  EXPECT_EQ(text({.num_workers = 1, .timeout = -1}),
            "data_loader: timeout must be a number of seconds from 0, got -1");
  EXPECT_EQ(text({.num_workers = 1, .prefetch_factor = 0}),
            "data_loader: prefetch_factor must be at least 1, got 0");
  EXPECT_EQ(text({.num_workers = 4, .prefetch_factor = 1 << 30}),
            "data_loader: num_workers x prefetch_factor must be at most 65536, got 4 x 1073741824");
  Generator random;
  EXPECT_EQ(text({.seed = 1, .generator = &random}),
            "data_loader: seed and generator exclude each other, got both");
  DataLoader live(std::make_shared<Numbers>(4),
                  {.num_workers = 1, .start_method = StartMethod::zygote});
  EXPECT_EQ(error_of([&] { *live.begin(); }),
            "data_loader: StartMethod::zygote needs a dataset that another process can make, got a "
            "dataset that make_dataset didn't make of portable arguments");
}

int changed_by_the_program = 0;

// What a worker has of the program.
struct Inheritance : Dataset {
  int64_t size() const override { return 1; }
  std::vector<TensorSpec> specs() const override {
    return {{"changed", i64, {}}, {"main", i64, {}}, {"descriptor", i64, {}}};
  }
  void read(int64_t, Sample& sample, Generator&) const override {
    sample["changed"].fill_(changed_by_the_program);
    sample["main"].fill_(is_set_before_init);
    int64_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      found += std::filesystem::read_symlink(entry, error) == "/dev/full";
    }
    sample["descriptor"].fill_(found);
  }
};

TEST(Workers, SpawnedOnesHaveNothingOfTheProgram) {
  const int descriptor = open("/dev/full", O_WRONLY);  // without O_CLOEXEC
  ASSERT_GE(descriptor, 0);
  changed_by_the_program = 7;
  for (const StartMethod method : kMethods) {
    DataLoader loader(make_dataset<Inheritance>(), {.num_workers = 1, .start_method = method});
    const Batch batch = *loader.begin();
    const bool forked = method == StartMethod::fork;
    EXPECT_EQ(batch["changed"].item<int64_t>(), forked ? 7 : 0);
    EXPECT_EQ(batch["descriptor"].item<int64_t>(), forked ? 1 : 0);
    EXPECT_EQ(batch["main"].item<int64_t>(), method == StartMethod::spawn ? 0 : 1);
  }
  close(descriptor);
}

// The process that reads, the dataset's copy that it reads from, and what decoding took. Reading
// waits until as many processes as there are to be have come to it, each with a file in `folder`.
class Who : public Dataset {
 public:
  explicit Who(const std::string& folder = "", int processes = 0)
      : folder_(folder), processes_(processes), made_(nanoseconds_now()) {}
  int64_t size() const override { return 16; }
  std::vector<TensorSpec> specs() const override { return {{"pid", i64, {}}, {"made", i64, {}}}; }
  void read(int64_t, Sample& sample, Generator&) const override {
    const StageScope scope(Stage::decode);
    usleep(4000);
    if (processes_ > 0) std::ofstream(folder_ + "/" + std::to_string(getpid()));
    while (processes_ > 0 &&
           std::distance(std::filesystem::directory_iterator(folder_), {}) < processes_)
      usleep(1000);
    sample["pid"].fill_(static_cast<int64_t>(getpid()));
    sample["made"].fill_(made_);
  }

 private:
  std::string folder_;
  int processes_;
  int64_t made_;
};

TEST(Workers, PersistentOnesAreTheSameProcessesWithTheSameDataset) {
  for (const StartMethod method : kMethods)
    for (const bool persistent : {true, false}) {
      const TestFolder folder;
      DataLoader loader(
          make_dataset<Who>(folder.str(), 2),
          {.num_workers = 2, .persistent_workers = persistent, .start_method = method});
      std::set<int64_t> pids[2], copies[2];
      for (int epoch = 0; epoch < 2; ++epoch)
        for (const auto& batch : loader) {
          pids[epoch].insert(batch["pid"].item<int64_t>());
          copies[epoch].insert(batch["made"].item<int64_t>());
        }
      EXPECT_EQ(pids[0].size(), 2u);
      // On a busy machine one of them may have read all of the second epoch.
      for (const int64_t pid : pids[1]) EXPECT_EQ(pids[0].contains(pid), persistent);
      EXPECT_EQ(copies[0].size(), 1u);
      EXPECT_EQ(copies[0], copies[1]);  // by fork the program's own, else the nursery's
    }
}

TEST(Workers, EveryEpochHasAStallAccountOfItsOwn) {
  for (const bool persistent : {true, false}) {
    DataLoader loader(make_dataset<Who>(), {.num_workers = 2, .persistent_workers = persistent});
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (const auto& batch : loader) batch["pid"].item<int64_t>();
      const StallAccount account = loader.stall_account();
      EXPECT_GE(account.decode, 16 * 0.004) << epoch;
      EXPECT_GT(account.decode, account.other) << epoch;
      EXPECT_EQ(account.read, 0) << epoch;
    }
  }
}

TEST(Workers, AutomaticallyAsManyAsThereAreCpusForThem) {
  DataLoader loader(make_dataset<Numbers>(40), {.num_workers = kAutoWorkers, .seed = 6});
  DataLoader alone(make_dataset<Numbers>(40), {.seed = 6});
  EXPECT_EQ(text_of(loader), text_of(alone));
  EXPECT_EQ(loader.stall_account().workers, std::max(1, available_cpus() - 1));
}

// Sample i: i + 1 ones, of 8 at most.
class Ragged : public Dataset {
 public:
  explicit Ragged(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::vector<TensorSpec> specs() const override { return {{"ones", f32, {8}}}; }
  void read(int64_t index, Sample& sample, Generator&) const override {
    sample.resize("ones", {index % 8 + 1});
    sample["ones"].fill_(1);
  }
  int64_t size_;
};

TEST(Workers, TakeACollateOfOnesOwnForSamplesOfManySizes) {
  const Collate collate = [](std::span<const Sample> samples) {
    Batch batch;
    std::vector<int64_t> lengths;
    for (const Sample& sample : samples) lengths.push_back(sample["ones"].size(0));
    batch.add("lengths", tensor(lengths));
    return batch;
  };
  DataLoader alone(make_dataset<Ragged>(20), {.batch_size = 3, .collate = collate});
  const std::string expected = text_of(alone);
  EXPECT_EQ(expected.substr(0, 20), "lengths[3] 1.000000 ");
  DataLoader loader(make_dataset<Ragged>(20),
                    {.batch_size = 3, .num_workers = 2, .collate = collate});
  EXPECT_EQ(text_of(loader), expected);
  DataLoader without(make_dataset<Ragged>(20), {.batch_size = 3, .num_workers = 2});
  EXPECT_EQ(error_of([&] { *without.begin(); }),
            "collate: samples of a batch must have one shape; give the loader a collate of your "
            "own, got [1] and [2] for \"ones\"");
  // By themselves samples may be of any size, and a collate sees one at a time.
  DataLoader single(make_dataset<Ragged>(20), {.batch_size = kUnbatched, .num_workers = 2});
  std::vector<int64_t> sizes;
  for (const auto& sample : single) sizes.push_back(sample["ones"].size(0));
  EXPECT_EQ(sizes, (Indices{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4}));
  for (const int workers : {0, 2}) {
    DataLoader collated(make_dataset<Ragged>(20),
                        {.batch_size = kUnbatched, .num_workers = workers, .collate = collate});
    sizes.clear();
    for (const auto& batch : collated) sizes.push_back(batch["lengths"].item<int64_t>());
    EXPECT_EQ(sizes.size(), 20u);
    EXPECT_EQ(sizes[9], 2);
  }
}

TEST(Workers, TakeACollateThatKeepsItsSamples) {
  for (const StartMethod method : kMethods) {
    std::vector<Sample> kept;
    const Collate collate = [&](std::span<const Sample> samples) {
      kept.insert(kept.end(), samples.begin(), samples.end());
      return default_collate(samples);
    };
    DataLoader loader(make_dataset<Numbers>(60), {.batch_size = 3,
                                                  .num_workers = 2,
                                                  .collate = collate,
                                                  .timeout = 30,
                                                  .seed = 3,
                                                  .start_method = method});
    DataLoader alone(make_dataset<Numbers>(60), {.batch_size = 3, .seed = 3});
    EXPECT_EQ(text_of(loader), text_of(alone));
    ASSERT_EQ(kept.size(), 60u);
    for (int64_t i = 0; i < 60; ++i) {
      const Sample& sample = kept[static_cast<size_t>(i)];
      EXPECT_EQ(sample["index"].item<int64_t>(), i);
      EXPECT_EQ(sample["block"].to_vector<int64_t>(), Indices(40, i));
    }
  }
}

TEST(Workers, TakeBatchesOfAnySizesWhichGrow) {
  struct Growing : BatchSampler {
    Growing() : BatchSampler(std::make_shared<SequentialSampler>(20), 1, false) {}
    int64_t size() const override { return 3; }
    std::vector<Indices> batches(int64_t epoch, Generator&) const override {
      Indices all(static_cast<size_t>(1 + 6 * epoch));
      std::iota(all.begin(), all.end(), 0);
      return {{1, 2, 3}, {7}, all};
    }
  };
  for (const bool persistent : {false, true}) {
    const auto sampler = std::make_shared<Growing>();
    DataLoader alone(make_dataset<Numbers>(20), {.batch_sampler = sampler, .seed = 2});
    DataLoader loader(
        make_dataset<Numbers>(20),
        {.batch_sampler = sampler, .num_workers = 2, .persistent_workers = persistent, .seed = 2});
    for (int epoch = 0; epoch < 4; ++epoch) EXPECT_EQ(text_of(loader), text_of(alone));
  }
}

TEST(Workers, OfALiveDatasetSeeItAsItIsWhenTheEpochBegins) {
  const auto dataset = std::make_shared<Ragged>(3);
  DataLoader loader(dataset, {.batch_size = kUnbatched, .num_workers = 2});
  for (const int64_t size : {3, 9, 5}) {
    dataset->size_ = size;
    int64_t count = 0;
    for (const auto& sample : loader) count += sample["ones"].dim();
    EXPECT_EQ(count, size);
  }
}

TEST(Workers, SamplesRandomNumbersAreThoseOfEarlierVersions) {
  // Whoever changes them makes another epoch of what a saved state goes on with.
  DataLoader loader(make_dataset<Numbers>(3), {.batch_size = 3, .num_workers = 1, .seed = 3});
  loader.set_epoch(1);
  EXPECT_EQ(to_string((*loader.begin())["noise"]),
            "tensor([[0.5882, 0.3802],\n        [0.9691, 0.6930],\n        [0.8298, 0.8042]], "
            "dtype=f64)");
}

}  // namespace
}  // namespace aorta::data
