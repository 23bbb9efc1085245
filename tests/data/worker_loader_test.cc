#include <aorta/core/zygote.h>
#include <aorta/tests/data/worker_datasets.h>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

using Indices = std::vector<int64_t>;

constexpr StartMethod kMethods[] = {StartMethod::zygote, StartMethod::fork};

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
    const int before = static_cast<int>(stop % 3), after = static_cast<int>((stop + 1) % 3);
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

TEST(Workers, StateIsCheckedAgainstTheLoader) {
  DataLoader loader(make_dataset<Numbers>(50), {.batch_size = 5});
  const State state = loader.state();
  DataLoader smaller(make_dataset<Numbers>(40), {.batch_size = 5});
  EXPECT_EQ(error_of([&] { smaller.restore(state); }),
            "data_loader: a state must be of a dataset of the same size, got 50 samples for 40");
  EXPECT_EQ(error_of([&] { smaller.restore(State()); }).substr(0, 46),
            "state: names must be the object's, got missing");
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

TEST(Workers, SayWhatIsWrongWithTheirOptions) {
  const auto numbers = make_dataset<Numbers>(4);
  const auto text = [&](const DataLoaderOptions& options) {
    return error_of([&] { DataLoader(numbers, options); });
  };
  EXPECT_EQ(text({.prefetch_factor = 2}),
            "data_loader: timeout, prefetch_factor, persistent_workers, worker_init and "
            "reads_in_flight are for num_workers > 0, got num_workers 0");
  EXPECT_EQ(text({.num_workers = 1, .timeout = -1}),
            "data_loader: timeout must be a number of seconds from 0, got -1");
  EXPECT_EQ(text({.num_workers = 1, .prefetch_factor = 0}),
            "data_loader: prefetch_factor must be at least 1, got 0");
  Generator random;
  EXPECT_EQ(text({.seed = 1, .generator = &random}),
            "data_loader: seed and generator exclude each other, got both");
  DataLoader live(std::make_shared<Numbers>(4),
                  {.num_workers = 1, .start_method = StartMethod::zygote});
  EXPECT_EQ(error_of([&] { *live.begin(); }),
            "data_loader: StartMethod::zygote needs a dataset that another process can make, got a "
            "dataset that make_dataset didn't make of portable arguments");
}

// The words 0 ... words - 1, shared out among the workers.
class Words : public IterableDataset {
 public:
  explicit Words(int64_t words) : words_(words) {}
  std::vector<TensorSpec> specs() const override { return {{"word", i64, {}}, {"noise", f64, {}}}; }
  std::unique_ptr<SampleStream> stream(int64_t) const override {
    struct Stream : SampleStream {
      int64_t next_word, step, words;
      bool next(Sample& sample, Generator& random) override {
        if (next_word >= words) return false;
        sample["word"].fill_(next_word);
        sample["noise"].fill_(random.next_uniform());
        next_word += step;
        return true;
      }
    };
    const WorkerInfo* worker = worker_info();
    auto stream = std::make_unique<Stream>();
    stream->next_word = worker ? worker->id : 0;
    stream->step = worker ? worker->num_workers : 1;
    stream->words = words_;
    return stream;
  }

 private:
  int64_t words_;
};

std::vector<Indices> words_of(DataLoader& loader) {
  std::vector<Indices> batches;
  for (const auto& batch : loader) batches.push_back(batch["word"].to_vector<int64_t>());
  return batches;
}

TEST(Workers, ReadStreamsInTurn) {
  DataLoader alone(make_dataset<Words>(7), {.batch_size = 2});
  EXPECT_EQ(words_of(alone), (std::vector<Indices>{{0, 1}, {2, 3}, {4, 5}, {6}}));
  for (const StartMethod method : kMethods) {
    // PyTorch 2.15 gives the same for a dataset that splits range(7) so among 2 and 3 workers.
    DataLoader two(make_dataset<Words>(7),
                   {.batch_size = 2, .num_workers = 2, .start_method = method});
    EXPECT_EQ(words_of(two), (std::vector<Indices>{{0, 2}, {1, 3}, {4, 6}, {5}}));
    EXPECT_EQ(words_of(two).size(), 4u);
    DataLoader dropping(
        make_dataset<Words>(7),
        {.batch_size = 2, .num_workers = 3, .drop_last = true, .start_method = method});
    EXPECT_EQ(words_of(dropping), (std::vector<Indices>{{0, 3}, {1, 4}, {2, 5}}));
  }
  DataLoader resumed(make_dataset<Words>(7), {.batch_size = 2, .num_workers = 2});
  auto it = resumed.begin();
  *it;
  ++it;
  *it;
  const State state = resumed.state();
  DataLoader other(make_dataset<Words>(7), {.batch_size = 2, .num_workers = 2});
  other.restore(state);
  EXPECT_EQ(words_of(other), (std::vector<Indices>{{4, 6}, {5}}));
  EXPECT_EQ(error_of([&] { DataLoader(make_dataset<Words>(7), {.shuffle = true}); }),
            "data_loader: an iterable dataset has an order of its own: no shuffle, sampler or "
            "batch_sampler, got one of them");
}

}  // namespace
}  // namespace aorta::data
