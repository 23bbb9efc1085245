#include <aorta/tests/data/worker_datasets.h>

#include <signal.h>

#include <aorta/core/ops/creation.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>
#include <algorithm>

namespace aorta::data {
namespace {

using Indices = std::vector<int64_t>;

constexpr StartMethod kAllMethods[] = {StartMethod::zygote, StartMethod::spawn, StartMethod::fork};

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

TEST(WorkerStreams, AreReadInTurn) {
  DataLoader alone(make_dataset<Words>(7), {.batch_size = 2});
  EXPECT_EQ(words_of(alone), (std::vector<Indices>{{0, 1}, {2, 3}, {4, 5}, {6}}));
  for (const StartMethod method : kAllMethods) {
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

TEST(WorkerStreams, PersistentWorkersOpenOneForEachPassOverAnEpoch) {
  for (const bool persistent : {true, false}) {
    DataLoader loader(make_dataset<Words>(7),
                      {.batch_size = 2, .num_workers = 2, .persistent_workers = persistent});
    const auto first = words_of(loader);
    EXPECT_EQ(first.size(), 4u);
    for (int i = 0; i < 2; ++i) {
      loader.set_epoch(0);  // the same again
      EXPECT_EQ(words_of(loader), first);
    }
    loader.set_epoch(0);
    for (const auto& batch : loader) {
      EXPECT_EQ(batch["word"].size(0), 2);
      break;  // left early
    }
    loader.set_epoch(0);
    EXPECT_EQ(words_of(loader), first);
  }
}

// Numbers in an order that is drawn when the stream is opened; `trouble` is the epoch whose stream
// can't be opened, `bad` a number that can't be read, `deadly` one that ends worker 0 as
// often as `deaths` says, or once the workers' parent where that is -1.
class Shuffled : public IterableDataset {
 public:
  explicit Shuffled(int64_t trouble = -1, int64_t bad = -1, int64_t deadly = -1,
                    const Tensor& deaths = Tensor())
      : trouble_(trouble), bad_(bad), deadly_(deadly), deaths_(deaths) {}
  std::vector<TensorSpec> specs() const override { return {{"number", i64, {}}}; }
  std::unique_ptr<SampleStream> stream(int64_t epoch) const override {
    check(epoch != trouble_, "shuffled", "the stream must be there", epoch);
    struct Stream : SampleStream {
      Indices order;
      size_t next_place = 0;
      int64_t bad, deadly;
      Tensor deaths;
      bool next(Sample& sample, Generator&) override {
        if (next_place == order.size()) return false;
        const int64_t number = order[next_place++];
        if (number == deadly && deaths.item<int64_t>() != 0) {
          const bool of_parent = deaths.item<int64_t>() < 0;
          deaths.fill_(of_parent ? 0 : deaths.item<int64_t>() - 1);
          kill(of_parent ? getppid() : getpid(), SIGKILL);
          while (of_parent) pause();  // it ends with its parent
        }
        check(number != bad, "shuffled", "a number must be good", number);
        sample["number"].fill_(number);
        return true;
      }
    };
    auto stream = std::make_unique<Stream>();
    stream->order = randperm(12).to_vector<int64_t>();  // of the default generator
    stream->bad = bad_;
    stream->deadly = worker_info() && worker_info()->id == 0 ? deadly_ : -1;
    stream->deaths = deaths_;
    return stream;
  }

 private:
  int64_t trouble_, bad_, deadly_;
  Tensor deaths_;
};

std::string numbers_of(DataLoader& loader) {
  std::string text;
  for (auto it = loader.begin(); it != loader.end(); ++it) {
    try {
      for (const int64_t number : (*it)["number"].to_vector<int64_t>())
        text += std::to_string(number) + " ";
    } catch (const SampleError& error) {
      text += error.fault().message + " ";
    }
  }
  return text;
}

TEST(WorkerStreams, AnOrderDrawnWhenOneIsOpenedIsOfSeedEpochAndWorker) {
  for (const int workers : {0, 1, 2}) {
    const auto options = [&](uint64_t seed) {
      return DataLoaderOptions{.batch_size = 4, .num_workers = workers, .seed = seed};
    };
    DataLoader loader(make_dataset<Shuffled>(), options(5));
    const std::string first = numbers_of(loader), second = numbers_of(loader);
    EXPECT_NE(first, second) << workers;
    // The program's own random numbers play no part.
    rand({3});
    DataLoader again(make_dataset<Shuffled>(), options(5)),
        other(make_dataset<Shuffled>(), options(6));
    EXPECT_EQ(numbers_of(again), first);
    EXPECT_EQ(numbers_of(again), second);
    EXPECT_NE(numbers_of(other), first);
  }
}

TEST(WorkerStreams, OneThatCannotBeOpenedIsOneErrorAWorkerAndTheNextEpochIsWhole) {
  const std::string trouble = "shuffled: the stream must be there, got 1 ";
  for (const bool persistent : {false, true})
    for (const int workers : {0, 1, 2}) {
      if (workers == 0 && persistent) continue;
      DataLoader loader(
          make_dataset<Shuffled>(1),
          {.batch_size = 5, .num_workers = workers, .persistent_workers = persistent, .seed = 5});
      DataLoader good(make_dataset<Shuffled>(),
                      {.batch_size = 5, .num_workers = workers, .seed = 5});
      EXPECT_EQ(numbers_of(loader), numbers_of(good));
      EXPECT_EQ(numbers_of(loader), workers == 2 ? trouble + trouble : trouble);
      numbers_of(good);
      EXPECT_EQ(numbers_of(loader), numbers_of(good));
    }
}

TEST(WorkerStreams, ResumeAroundASampleThatCannotBeRead) {
  for (const int workers : {0, 1, 2}) {
    const DataLoaderOptions options{.batch_size = 4, .num_workers = workers, .seed = 5};
    const auto dataset = make_dataset<Shuffled>(-1, 7);
    DataLoader whole(dataset, options);
    std::vector<std::string> texts;
    std::vector<State> states;
    std::vector<size_t> begins;  // the batch that a state asks for: one that couldn't be read again
    for (auto it = whole.begin(); it != whole.end(); ++it) {
      std::string text;
      begins.push_back(texts.size() + 1);
      try {
        text = text_of(*it);
      } catch (const SampleError& error) {
        text = error.fault().message;
        --begins.back();
      }
      texts.push_back(text);
      states.push_back(whole.state());
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      DataLoader resumed(dataset, options);
      resumed.restore(states[i]);
      size_t next = begins[i];
      for (auto it = resumed.begin(); it != resumed.end(); ++it, ++next) {
        std::string text;
        try {
          text = text_of(*it);
        } catch (const SampleError& error) {
          text = error.fault().message;
        }
        EXPECT_EQ(text, texts.at(next)) << workers << " " << i;
      }
      EXPECT_EQ(next, texts.size());
    }
  }
}

TEST(WorkerStreams, AStateIsOfAsManyWorkersAndOfThatBatchSize) {
  const auto state_with = [](int workers) {
    return DataLoader(make_dataset<Words>(7), {.batch_size = 2, .num_workers = workers}).state();
  };
  DataLoader two(make_dataset<Words>(7), {.batch_size = 2, .num_workers = 2});
  two.restore(state_with(2));
  EXPECT_EQ(error_of([&] { two.restore(state_with(1)); }),
            "data_loader: a state of an iterable dataset must be of as many workers, got 1 for 2");
  DataLoader one(make_dataset<Words>(7), {.batch_size = 2, .num_workers = 1});
  one.restore(state_with(0));  // one stream as well
  DataLoader larger(make_dataset<Words>(7), {.batch_size = 3, .num_workers = 2});
  EXPECT_EQ(error_of([&] { larger.restore(state_with(2)); }),
            "data_loader: a state must be of the same batch_size, got 2 for 3");
}

Tensor lives(int64_t count) { return full({}, count, {.dtype = i64}).share_memory(); }

// 7 can't be read, which is said in its batch and counts as a sample that the stream was asked for.
TEST(WorkerStreams, GoOnInAnotherWorkerWhereOneDied) {
  for (const StartMethod method : kAllMethods)
    for (const int workers : {1, 2, 3})
      for (int64_t deadly = 0; deadly < 12; deadly += method == StartMethod::fork ? 1 : 4) {
        const DataLoaderOptions options{
            .batch_size = 4, .num_workers = workers, .seed = 5, .start_method = method};
        DataLoader whole(make_dataset<Shuffled>(-1, 7), options);
        const Tensor deaths = lives(1);
        DataLoader loader(make_dataset<Shuffled>(-1, 7, deadly, deaths), options);
        for (int epoch = 0; epoch < 2; ++epoch) {
          testing::internal::CaptureStderr();
          const std::string numbers = numbers_of(loader);
          const std::string said = testing::internal::GetCapturedStderr();
          EXPECT_EQ(numbers, numbers_of(whole)) << workers << " " << deadly;
          EXPECT_EQ(said.find("; it is started again") != std::string::npos, epoch == 0) << said;
        }
        EXPECT_EQ(deaths.item<int64_t>(), 0);
      }
}

TEST(WorkerStreams, AllGoOnWhenTheWorkersParentDied) {
  for (const StartMethod method : kAllMethods)
    for (const int64_t deadly : {0, 5, 11}) {
      const DataLoaderOptions options{
          .batch_size = 4, .num_workers = 2, .seed = 5, .start_method = method};
      DataLoader whole(make_dataset<Shuffled>(-1, 7), options);
      const Tensor deaths = lives(-1);
      DataLoader loader(make_dataset<Shuffled>(-1, 7, deadly, deaths), options);
      testing::internal::CaptureStderr();
      const std::string numbers = numbers_of(loader);
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(numbers, numbers_of(whole)) << deadly;
      EXPECT_NE(said.find("the workers' parent (pid "), std::string::npos) << said;
      EXPECT_EQ(deaths.item<int64_t>(), 0);
    }
}

TEST(WorkerStreams, OneThatEndsTwoWorkersIsGivenUpAndTheOthersGoOn) {
  for (const StartMethod method : kAllMethods) {
    const DataLoaderOptions options{
        .batch_size = 4, .num_workers = 2, .seed = 5, .start_method = method};
    DataLoader whole(make_dataset<Shuffled>(), options);
    std::vector<Indices> wanted;  // nothing stands for the batch that fails
    bool given_up = false;
    int64_t turn = 0;
    for (const auto& batch : whole) {
      const Indices numbers = batch["number"].to_vector<int64_t>();
      if (turn++ % 2 == 1) {
        wanted.push_back(numbers);
      } else if (!given_up) {
        given_up = std::count(numbers.begin(), numbers.end(), 3) > 0;
        wanted.push_back(given_up ? Indices{} : numbers);
      }
    }
    const Tensor deaths = lives(2);
    DataLoader loader(make_dataset<Shuffled>(-1, -1, 3, deaths), options);
    testing::internal::CaptureStderr();
    std::vector<Indices> batches;
    std::string fault;
    for (auto it = loader.begin(); it != loader.end(); ++it) {
      try {
        batches.push_back((*it)["number"].to_vector<int64_t>());
      } catch (const SampleError& error) {
        batches.emplace_back();
        fault = error.fault().message;
      }
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(batches, wanted);
    EXPECT_EQ(fault.rfind("worker 0 (pid ", 0), 0u) << fault;
    EXPECT_NE(fault.find(") was killed by signal 9 (SIGKILL)"), std::string::npos) << fault;
    EXPECT_EQ(deaths.item<int64_t>(), 0);
  }
}

}  // namespace
}  // namespace aorta::data
