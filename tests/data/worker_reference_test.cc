#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/data/worker_datasets.h>

#include <sched.h>
#include <sys/resource.h>

#include <atomic>

#include <aorta/tests/data/worker_processes.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

// Behaviours of PyTorch's test_dataloader.py that the other files of this folder don't have.

namespace aorta::data {
namespace {

using Indices = std::vector<int64_t>;

TEST(LoaderReference, UnbatchedSamplesAreThemselves) {
  DataLoader expected(make_dataset<Numbers>(7), {.shuffle = true, .seed = 4});
  std::vector<std::string> texts;
  for (const auto& batch : expected)
    texts.push_back(text_of(Batch({{"index", batch["index"][0]},
                                   {"noise", batch["noise"][0]},
                                   {"block", batch["block"][0]}})));
  for (const int workers : {0, 2}) {
    DataLoader loader(
        make_dataset<Numbers>(7),
        {.batch_size = kUnbatched, .shuffle = true, .num_workers = workers, .seed = 4});
    EXPECT_EQ(loader.size(), 7);
    size_t i = 0;
    for (const auto& sample : loader) {
      EXPECT_EQ(sample["block"].shape(), (Shape{5, 8}));
      EXPECT_EQ(text_of(sample), texts.at(i++));
    }
    EXPECT_EQ(i, 7u);
  }
  EXPECT_EQ(
      error_of([] {
        DataLoader(make_dataset<Numbers>(7), {.batch_size = kUnbatched, .drop_last = true});
      }),
      "data_loader: samples by themselves have no drop_last or batch_sampler, got one of them");
}

TEST(LoaderReference, PrefetchFactorChangesNoBatch) {
  std::string first;
  for (const int factor : {1, 2, 5, 20}) {
    DataLoader loader(
        make_dataset<Numbers>(50),
        {.batch_size = 4, .shuffle = true, .num_workers = 2, .prefetch_factor = factor, .seed = 1});
    const std::string text = text_of(loader);
    if (first.empty()) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(LoaderReference, ReadsInFlightChangeNoBatch) {
  DataLoader alone(make_dataset<Numbers>(50), {.batch_size = 4, .seed = 1});
  DataLoader loader(make_dataset<Numbers>(50, Trouble::none, 0, "", 0.002),
                    {.batch_size = 4, .num_workers = 2, .reads_in_flight = 4, .seed = 1});
  EXPECT_EQ(text_of(loader), text_of(alone));
}

TEST(LoaderReference, AGeneratorOfOnesOwnDecidesAndOthersStayAsTheyAre) {
  Generator a(5), b(5);
  const auto numbers = make_dataset<Numbers>(30);
  const GeneratorState before = default_generator().state();
  DataLoader first(numbers, {.shuffle = true, .generator = &a});
  DataLoader second(numbers, {.shuffle = true, .num_workers = 2, .generator = &b});
  EXPECT_EQ(default_generator().state(), before);
  EXPECT_EQ(text_of(first), text_of(second));
  EXPECT_EQ(default_generator().state(), before);
  EXPECT_EQ(a.state(), b.state());
}

TEST(LoaderReference, EveryFailingBatchRaisesAndTheOthersArrive) {
  struct Odd : Dataset {
    int64_t size() const override { return 10; }
    std::vector<TensorSpec> specs() const override { return {{"x", i64, {}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      check(index % 2 == 0, "odd", "it must be even", index);
      sample["x"].fill_(index);
    }
  };
  for (const int workers : {0, 2}) {
    DataLoader loader(std::make_shared<Odd>(), {.num_workers = workers});
    std::string pattern;
    for (auto it = loader.begin(); it != loader.end(); ++it) {
      try {
        pattern += std::to_string((*it)["x"].to_vector<int64_t>()[0]);
      } catch (const SampleError& error) {
        pattern += "!";
        EXPECT_EQ(error.fault().sample % 2, 1);
      }
    }
    EXPECT_EQ(pattern, "0!2!4!6!8!");
  }
}

TEST(LoaderReference, TheInitHookRunsAfterSeedingAndAffinityStays) {
  struct Affine : Dataset {
    int64_t size() const override { return 8; }
    std::vector<TensorSpec> specs() const override { return {{"cpus", i64, {}}}; }
    void read(int64_t, Sample& sample, Generator&) const override {
      cpu_set_t set;
      sched_getaffinity(0, sizeof set, &set);
      sample["cpus"].fill_(static_cast<int64_t>(CPU_COUNT(&set)));
    }
  };
  const auto one_cpu = [](const WorkerInfo& info) {
    check(worker_info() && worker_info()->id == info.id, "hook", "the worker must know itself");
    check(default_generator().state().seed == info.seed, "hook", "it must be seeded");
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
  };
  DataLoader loader(make_dataset<Affine>(),
                    {.batch_size = 8, .num_workers = 2, .worker_init = one_cpu});
  EXPECT_EQ((*loader.begin())["cpus"].to_vector<int64_t>(), Indices(8, 1));
}

TEST(LoaderReference, ASlowSampleDelaysItsOwnBatchAlone) {
  struct Slow : Dataset {
    explicit Slow(const Tensor& read) : read_count(read) {}
    int64_t size() const override { return 16; }
    std::vector<TensorSpec> specs() const override { return {{"x", i64, {}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      // Sample 1 waits until all that is read ahead is there, whichever worker has it.
      auto& count = *reinterpret_cast<std::atomic<int64_t>*>(read_count.data());
      if (index == 1) within(20, [&] { return count >= 15; });
      sample["x"].fill_(index);
      ++count;
    }
    Tensor read_count;
  };
  const Tensor count = zeros({1}, {.dtype = i64}).share_memory();
  DataLoader loader(make_dataset<Slow>(count),
                    {.batch_size = 4, .num_workers = 2, .prefetch_factor = 4});
  std::string order;
  for (const auto& batch : loader)
    for (const int64_t x : batch["x"].to_vector<int64_t>()) order += std::to_string(x) + " ";
  EXPECT_EQ(order, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ");
  EXPECT_EQ(count.to_vector<int64_t>()[0], 16);
}

TEST(LoaderReference, TooFewDescriptorsAreAnErrorThatSaysWhatToDo) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = open_descriptors() + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string text = error_of([] {
    DataLoader loader(make_dataset<Numbers>(4), {.num_workers = 1});
    *loader.begin();
  });
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_NE(text.find("ulimit -n"), std::string::npos) << text;
  DataLoader loader(make_dataset<Numbers>(4), {.num_workers = 1});
  EXPECT_EQ((*loader.begin())["index"].to_vector<int64_t>(), Indices{0});
}

TEST(LoaderReference, WorkersOfAProgramThatHasUsedItsThreads) {
  // A convolution on all threads, then workers that compute one, too.
  const Tensor image = ones({1, 3, 32, 32}), weight = ones({8, 3, 3, 3});
  const Tensor expected = conv2d(image, weight);
  struct Convolved : Dataset {
    int64_t size() const override { return 4; }
    std::vector<TensorSpec> specs() const override { return {{"y", f32, {8, 30, 30}}}; }
    void read(int64_t, Sample& sample, Generator&) const override {
      check(get_num_threads() == 1, "convolved", "a worker must have one thread");
      sample["y"].copy_(conv2d(ones({1, 3, 32, 32}), ones({8, 3, 3, 3}))[0]);
    }
  };
  for (const StartMethod method : {StartMethod::zygote, StartMethod::spawn, StartMethod::fork}) {
    DataLoader loader(make_dataset<Convolved>(),
                      {.num_workers = 2, .timeout = 60, .start_method = method});
    for (const auto& batch : loader)
      EXPECT_EQ(batch["y"].to_vector<float>(), expected.to_vector<float>());
  }
}

TEST(LoaderReference, StreamsChainAndMoreThanDeclaredIsSaid) {
  struct Count : IterableDataset {
    Count(int64_t from, int64_t to, int64_t declared) : from(from), to(to), declared(declared) {}
    std::vector<TensorSpec> specs() const override { return {{"x", i64, {}}}; }
    std::unique_ptr<SampleStream> stream(int64_t) const override {
      struct Stream : SampleStream {
        int64_t now, to;
        bool next(Sample& sample, Generator&) override {
          if (now == to) return false;
          sample["x"].fill_(now++);
          return true;
        }
      };
      auto made = std::make_unique<Stream>();
      made->now = from;
      made->to = to;
      return made;
    }
    std::optional<int64_t> size() const override { return declared; }
    int64_t from, to, declared;
  };
  const auto chain = make_dataset<ChainDataset>(std::vector<std::shared_ptr<const IterableDataset>>{
      make_dataset<Count>(0, 3, 3), make_dataset<Count>(10, 10, 0),
      make_dataset<Count>(20, 22, 2)});
  EXPECT_EQ(chain->size(), 5);
  for (const int workers : {0, 1}) {
    DataLoader loader(chain, {.batch_size = 2, .num_workers = workers});
    EXPECT_EQ(loader.size(), 3);
    std::vector<Indices> batches;
    for (const auto& batch : loader) batches.push_back(batch["x"].to_vector<int64_t>());
    EXPECT_EQ(batches, (std::vector<Indices>{{0, 1}, {2, 20}, {21}}));
  }
  EXPECT_EQ(error_of([] { ChainDataset({}); }), "chain_dataset: there must be a dataset, got none");
  const auto chained = [](const std::shared_ptr<const IterableDataset>& second) {
    return ChainDataset({make_dataset<Count>(0, 1, INT64_MAX), second});
  };
  EXPECT_EQ(error_of([&] { chained(make_dataset<Count>(0, 1, 1)).size(); }),
            "chain_dataset: sizes must not be negative, and sum to less than 2^63, got "
            "9223372036854775807 and 1");
  EXPECT_EQ(error_of([&] { chained(make_dataset<Count>(0, 1, -1)).size(); }),
            "chain_dataset: sizes must not be negative, and sum to less than 2^63, got "
            "9223372036854775807 and -1");
  struct Empty : Count {
    Empty() : Count(0, 0, 0) {}
    std::vector<TensorSpec> specs() const override { return {}; }
  };
  EXPECT_EQ(error_of([&] { chained(make_dataset<Empty>()); }),
            "chain_dataset: members must declare as many tensors, got 0 and 1");
  struct Other : Count {
    Other() : Count(0, 0, 0) {}
    std::vector<TensorSpec> specs() const override { return {{"x", f32, {2}}}; }
  };
  EXPECT_EQ(
      error_of([&] { chained(make_dataset<Other>()); }),
      "chain_dataset: members must declare the same tensors, got \"x\" f32[2] and \"x\" i64[]");
  struct Silent : Count {
    Silent() : Count(0, 0, 0) {}
    std::unique_ptr<SampleStream> stream(int64_t) const override { return nullptr; }
  };
  const ChainDataset silent({make_dataset<Count>(0, 1, 1), make_dataset<Silent>()});
  Generator random;
  Sample sample(checked_specs(silent.specs()));
  const auto stream = silent.stream(0);
  EXPECT_TRUE(stream->next(sample, random));
  EXPECT_EQ(error_of([&] { stream->next(sample, random); }),
            "chain_dataset: there must be a stream, got none of dataset 1");
  testing::internal::CaptureStderr();
  // Both workers read the whole: twice as many as declared.
  DataLoader twice(make_dataset<Count>(0, 4, 4), {.num_workers = 2});
  int64_t samples = 0;
  for (const auto& batch : twice) samples += batch["x"].size(0);
  EXPECT_EQ(samples, 8);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "aorta: data_loader: the dataset says that it has 4 samples, and gives more; with "
            "workers each stream must be a part of it\n");
}

TEST(LoaderReference, TheStallAccountAddsUp) {
  struct Staged : Dataset {
    int64_t size() const override { return 20; }
    std::vector<TensorSpec> specs() const override { return {{"x", i64, {}}}; }
    void read(int64_t index, Sample& sample, Generator&) const override {
      {
        const StageScope open(Stage::open);
        usleep(1000);
        const StageScope decode(Stage::decode);  // the inner one counts alone
        usleep(4000);
      }
      usleep(1000);
      sample["x"].fill_(index);
    }
  };
  for (const int workers : {0, 2}) {
    DataLoader loader(make_dataset<Staged>(), {.batch_size = 5, .num_workers = workers});
    EXPECT_EQ(loader.stall_account().verdict(), "nothing was loaded");
    for (const auto& batch : loader) batch["x"].size(0);
    const StallAccount account = loader.stall_account();
    EXPECT_EQ(account.batches, 4);
    EXPECT_EQ(account.samples, 20);
    EXPECT_GE(account.open, 0.020);
    EXPECT_GE(account.decode, 0.080);
    EXPECT_GE(account.other, 0.020);
    EXPECT_EQ(account.read, 0);
    EXPECT_GT(account.decode, account.open);
    EXPECT_GT(account.total, account.wait);
    EXPECT_EQ(account.verdict().rfind("loading-bound: the program waits ", 0), 0u)
        << account.verdict();
    EXPECT_NE(account.verdict().find("mostly for decoding"), std::string::npos);
    EXPECT_NE(account.table().find("decode"), std::string::npos);
  }
}

}  // namespace
}  // namespace aorta::data
