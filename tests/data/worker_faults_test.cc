#include <aorta/data/workers/worker_steps.h>
#include <aorta/tests/data/worker_datasets.h>

#include <aorta/data/workers/worker.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <regex>

#include <aorta/tests/data/worker_processes.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

constexpr StartMethod kForkingMethods[] = {StartMethod::zygote, StartMethod::fork};
#if defined(__SANITIZE_ADDRESS__)
// The sanitizer looks at a SIGSEGV for longer than the epoch takes.
const std::vector<int> kDeaths{SIGKILL, SIGABRT};
#else
const std::vector<int> kDeaths{SIGKILL, SIGSEGV, SIGABRT};
#endif

std::string expected_text(int64_t size, int64_t batch_size) {
  DataLoader alone(make_dataset<Numbers>(size), {.batch_size = batch_size, .seed = 6});
  return text_of(alone);
}

TEST(WorkerFaults, ASampleThatEndsWorkersIsAnErrorAndTheRestArrives) {
  const std::map<Trouble, std::string> endings{
      {Trouble::segfault, "was killed by signal 11 (SIGSEGV)"},
      {Trouble::abort, "was killed by signal 6 (SIGABRT)"},
      {Trouble::kill, "was killed by signal 9 (SIGKILL)"},
      {Trouble::exit, "exited with code 3"}};
  for (const StartMethod method : kForkingMethods)
    for (const auto& [trouble, ending] : endings) {
      DataLoader loader(make_dataset<Numbers>(40, trouble, 13),
                        {.batch_size = 4, .num_workers = 2, .seed = 6, .start_method = method});
      DataLoader alone(make_dataset<Numbers>(40), {.batch_size = 4, .seed = 6});
      auto expected = alone.begin();
      int batches = 0, errors = 0;
      for (auto it = loader.begin(); it != loader.end(); ++it, ++expected, ++batches) {
        try {
          EXPECT_EQ(text_of(*it), text_of(*expected));
        } catch (const SampleError& error) {
          ++errors;
          EXPECT_EQ(batches, 3);
          EXPECT_EQ(error.fault().sample, 13);
          EXPECT_EQ(error.fault().file, "number_13");
          const std::string worker = "worker " + std::to_string(error.fault().worker);
          EXPECT_EQ(std::string(error.what()), "sample 13 (number_13, " + worker + "): " + worker +
                                                   " (pid " + std::to_string(error.fault().pid) +
                                                   ") " + ending);
        }
      }
      EXPECT_EQ(batches, 10);
      EXPECT_EQ(errors, 1);
    }
}

// Whichever of the samples that a worker reads at once has ended it, the others are read.
TEST(WorkerFaults, ASampleThatEndsWorkersIsTheOnlyOneThatFails) {
  for (const StartMethod method : kForkingMethods)
    for (const int workers : {1, 2}) {
      DataLoader loader(make_dataset<Numbers>(40, Trouble::kill, 13, "", 0.005),
                        {.batch_size = 1,
                         .num_workers = workers,
                         .prefetch_factor = 8,
                         .reads_in_flight = 4,
                         .seed = 6,
                         .start_method = method});
      DataLoader alone(make_dataset<Numbers>(40), {.batch_size = 1, .seed = 6});
      testing::internal::CaptureStderr();
      auto expected = alone.begin();
      std::vector<int64_t> failed;
      for (auto it = loader.begin(); it != loader.end(); ++it, ++expected) {
        try {
          EXPECT_EQ(text_of(*it), text_of(*expected));
        } catch (const SampleError& error) {
          failed.push_back(error.fault().sample);
          EXPECT_EQ(error.fault().file, "number_13");
        }
      }
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(failed, std::vector<int64_t>{13});
      // First among others, then by itself.
      EXPECT_TRUE(std::regex_search(said, std::regex("while it read .*number_13.*; it is")));
      // One that a thread has just begun has no name yet.
      EXPECT_TRUE(std::regex_search(
          said, std::regex("while it read sample \\d+( \\(number_\\d+\\))?, sample ")))
          << said;
      EXPECT_NE(said.find("while it read sample 13 (number_13); it is started again"),
                std::string::npos)
          << said;
    }
}

// Sample `troubled` writes `beyond` bytes behind the end of a tensor, or before its start where
// that is negative.
class Overflowing : public Numbers {
 public:
  Overflowing(int64_t troubled, std::string tensor, int64_t beyond)
      : Numbers(40), troubled_(troubled), tensor_(std::move(tensor)), beyond_(beyond) {}
  void read(int64_t index, Sample& sample, Generator& random) const override {
    Numbers::read(index, sample, random);
    if (index != troubled_) return;
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end it otherwise
    const Tensor& tensor = sample[tensor_];
    volatile char* const begin = static_cast<char*>(tensor.data());
    for (int64_t i = 0; i < beyond_; ++i) begin[tensor.nbytes() + i] = 0x5a;
    for (int64_t i = -1; i >= beyond_; --i) begin[i] = 0x5a;
  }

 private:
  int64_t troubled_;
  std::string tensor_;
  int64_t beyond_;
};

// What is said of sample 18, which `beyond` ends or spoils.
void expect_overflow_named(const SampleError& error, const std::string& tensor, int64_t beyond) {
  EXPECT_EQ(error.fault().sample, 18);
  const std::string text = error.what();
  if (beyond >= 64 || beyond <= -5000) {
    EXPECT_NE(text.find("was killed by signal 11 (SIGSEGV)"), std::string::npos) << text;
    return;
  }
  const std::string wanted = "dataset: read() must write within its tensors, got " +
                             std::to_string(std::abs(beyond)) + " bytes written " +
                             (beyond < 0 ? "before" : "behind") + " \"" + tensor + "\"";
  EXPECT_NE(text.find("sample 18 (number_18, worker "), std::string::npos) << text;
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

// It ends its worker, or is an error where it lies within the page of its tensor; the other samples
// of its batch and all other batches are as they are without it.
TEST(WorkerFaults, AReadThatWritesBeyondItsTensorHarmsNoOtherSample) {
  for (const StartMethod method : kForkingMethods)
    for (const std::string tensor : {"index", "noise", "block"})
      for (const int64_t beyond : {1, 5, 64, 5000, 1 << 20, -1, -8, -40, -5000})
        for (const int64_t batch_size : {1, 4}) {
          SCOPED_TRACE(tensor + " " + std::to_string(beyond));
          const int64_t batch = 18 / batch_size;
          DataLoader loader(
              make_dataset<Overflowing>(18, tensor, beyond),
              {.batch_size = batch_size, .num_workers = 2, .seed = 6, .start_method = method});
          DataLoader alone(make_dataset<Numbers>(40), {.batch_size = batch_size, .seed = 6});
          auto expected = alone.begin();
          int64_t batches = 0, errors = 0;
          testing::internal::CaptureStderr();
          for (auto it = loader.begin(); it != loader.end(); ++it, ++expected, ++batches) {
            try {
              EXPECT_EQ(text_of(*it), text_of(*expected));
            } catch (const SampleError& error) {
              ++errors;
              EXPECT_EQ(batches, batch);
              expect_overflow_named(error, tensor, beyond);
            }
          }
          const std::string said = testing::internal::GetCapturedStderr();
          EXPECT_EQ(batches, 40 / batch_size);
          EXPECT_EQ(errors, 1);
          EXPECT_EQ(said.find("while it read sample 18 (number_18); it is started again") !=
                        std::string::npos,
                    beyond <= -5000 || beyond >= 64)
              << said;
        }
}

// Frames of several pages, which are read into the batch itself but for their ends. Sample 6 writes
// `beyond` bytes behind its end, or before its start where that is negative.
class Frames : public Dataset {
 public:
  explicit Frames(int64_t beyond, int64_t length = kLength) : beyond_(beyond), length_(length) {}
  int64_t size() const override { return 12; }
  std::vector<TensorSpec> specs() const override {
    return {{"index", i32, {}}, {"frame", u8, {kLength}}};
  }
  void read(int64_t index, Sample& sample, Generator&) const override {
    sample["index"].fill_(index);
    volatile auto* const frame = sample.resize("frame", {length_}).data<uint8_t>();
    for (int64_t i = 0; i < length_; ++i) frame[i] = pixel(index, i);
    if (index != 6) return;
    signal(SIGSEGV, SIG_DFL);
    for (int64_t i = 0; i < beyond_; ++i) frame[length_ + i] = 0x5a;
    for (int64_t i = -1; i >= beyond_; --i) frame[i] = 0x5a;
  }
  static uint8_t pixel(int64_t index, int64_t i) {
    return static_cast<uint8_t>((31 * index + i) % 251);
  }

  static constexpr int64_t kLength = 20005;

 private:
  int64_t beyond_, length_;
};

void expect_frames(const Batch& batch, int64_t length) {
  ASSERT_EQ(batch["frame"].shape(), Shape(4, length));
  for (int64_t i = 0; i < 4; ++i) {
    const auto index = batch["index"][i].item<int64_t>();
    const std::vector<uint8_t> frame = batch["frame"][i].to_vector<uint8_t>();
    for (int64_t place = 0; place < length; ++place)
      ASSERT_EQ(frame[static_cast<size_t>(place)], Frames::pixel(index, place))
          << index << " at " << place;
  }
}

TEST(WorkerFaults, FramesInTheBatchAreGuardedToo) {
  for (const StartMethod method : kForkingMethods)
    for (const int64_t beyond : {0, 1, 200, 5000, -1, -200, -5000}) {
      SCOPED_TRACE(beyond);
      DataLoader loader(make_dataset<Frames>(beyond),
                        {.batch_size = 4, .num_workers = 2, .start_method = method});
      for (int epoch = 0; epoch < 3; ++epoch) {  // places are used again
        int64_t batches = 0, errors = 0;
        testing::internal::CaptureStderr();
        for (auto it = loader.begin(); it != loader.end(); ++it, ++batches) {
          try {
            expect_frames(*it, Frames::kLength);
          } catch (const SampleError& error) {
            ++errors;
            EXPECT_EQ(batches, 1);
            const std::string text = error.what(),
                              wanted = std::abs(beyond) == 5000
                                           ? "was killed by signal 11 (SIGSEGV)"
                                           : "got " + std::to_string(std::abs(beyond)) +
                                                 " bytes written " +
                                                 (beyond < 0 ? "before" : "behind") + " \"frame\"";
            EXPECT_NE(text.find(wanted), std::string::npos) << text;
          }
        }
        testing::internal::GetCapturedStderr();
        EXPECT_EQ(batches, 3);
        EXPECT_EQ(errors, beyond == 0 ? 0 : 1);
      }
    }
  for (const int64_t length : {1, 5000, 17000, 20004}) {  // made smaller
    DataLoader loader(make_dataset<Frames>(0, length), {.batch_size = 4, .num_workers = 2});
    for (const auto& batch : loader) expect_frames(batch, length);
  }
}

TEST(WorkerFaults, WhatOneDeathTookIsReadAgain) {
  const std::string flag = testing::TempDir() + "worker_once";
  for (const StartMethod method : kForkingMethods) {
    std::ofstream(flag).put('x');
    DataLoader loader(make_dataset<Numbers>(40, Trouble::once, 21, flag),
                      {.batch_size = 4, .num_workers = 2, .seed = 6, .start_method = method});
    testing::internal::CaptureStderr();
    EXPECT_EQ(text_of(loader), expected_text(40, 4));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(
        said.find(
            "was killed by signal 9 (SIGKILL) while it read sample 21 (number_21); it is started "
            "again"),
        std::string::npos)
        << said;
    EXPECT_NE(access(flag.c_str(), F_OK), 0);
  }
}

// What the hook does, in memory that workers share with the test.
struct Plan {
  std::atomic<int> step, signal, left;
};
Plan* plan;

// Makes `plan` what happens in processes that are forked from now on.
void hook_steps() {
  if (!plan)
    plan = static_cast<Plan*>(
        mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  worker_step_hook = [](WorkerStep step) {
    if (static_cast<int>(step) != plan->step || plan->left.fetch_sub(1) != 1) return;
    if (plan->signal != SIGSTOP) signal(plan->signal, SIG_DFL);
    raise(plan->signal);
  };
}

TEST(WorkerFaults, ADeathAtAnyStepLosesNothing) {
  hook_steps();
  const std::string expected = expected_text(30, 3);
  for (const int number : {SIGKILL, SIGSEGV, SIGABRT})
    for (int step = 0; step <= static_cast<int>(WorkerStep::announced); ++step)
      for (const int nth : {1, 2, 7}) {
        plan->step = step;
        plan->signal = number;
        plan->left = nth;
        testing::internal::CaptureStderr();
        {
          DataLoader loader(
              make_dataset<Numbers>(30),
              {.batch_size = 3, .num_workers = 2, .seed = 6, .start_method = StartMethod::fork});
          EXPECT_EQ(text_of(loader), expected) << number << " " << step << " " << nth;
        }
        testing::internal::GetCapturedStderr();
        const bool often = step > 0 && step < static_cast<int>(WorkerStep::made);
        EXPECT_TRUE(plan->left < 1 || (nth > 1 && !often)) << "the fault was not reached";
      }
  worker_step_hook = nullptr;
}

// It is no fault of the dataset's, nor of the start.
TEST(WorkerFaults, WhatAWorkerItselfThrowsIsSaid) {
  hook_steps();
  for (const int in_flight : {1, 4}) {
    plan->left = 5;
    worker_step_hook = [](WorkerStep step) {
      if (step == WorkerStep::claimed && plan->left.fetch_sub(1) == 1)
        throw std::runtime_error("of the worker's own");
    };
    testing::internal::CaptureStderr();
    {
      DataLoader loader(make_dataset<Numbers>(30), {.batch_size = 3,
                                                    .num_workers = 2,
                                                    .reads_in_flight = in_flight,
                                                    .seed = 6,
                                                    .start_method = StartMethod::fork});
      EXPECT_EQ(text_of(loader), expected_text(30, 3));
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(std::regex_match(
        said, std::regex("aorta: data_loader: worker [01] \\(pid [0-9]+\\) failed, "
                         "std::runtime_error: of the worker's own.*; it is started again\n")))
        << said;
  }
  worker_step_hook = nullptr;
}

TEST(WorkerFaults, AStopAtAnyStepIsTimedOutAndEnded) {
  hook_steps();
  for (int step = 0; step <= static_cast<int>(WorkerStep::announced); ++step) {
    plan->step = step;
    plan->signal = SIGSTOP;
    plan->left = 1;
    const auto processes = descendants().size();
    {
      DataLoader loader(
          make_dataset<Numbers>(30),
          {.batch_size = 30, .num_workers = 1, .timeout = 0.2, .start_method = StartMethod::fork});
      auto it = loader.begin();
      bool late = false;
      try {
        *it;
      } catch (const TimeoutError&) {
        late = true;
      }
      // What was told, or what is only announced, is there all the same.
      const bool done = step == static_cast<int>(WorkerStep::told) ||
                        step == static_cast<int>(WorkerStep::announced) ||
                        step == static_cast<int>(WorkerStep::forked);
      EXPECT_TRUE(late || done) << step;
      EXPECT_TRUE(within(20, [] { return plan->left < 1; })) << step;
    }
    EXPECT_EQ(descendants().size(), processes) << step;
  }
  worker_step_hook = nullptr;
}

TEST(WorkerFaults, AStoppedWorkerRunsIntoTheTimeoutAndIsEnded) {
  for (const StartMethod method : kForkingMethods) {
    std::vector<int> workers;
    {
      DataLoader loader(
          make_dataset<Numbers>(40, Trouble::stop, 5),
          {.batch_size = 4, .num_workers = 2, .timeout = 0.4, .start_method = method});
      auto it = loader.begin();
      *it;
      ++it;
      const std::string text = error_of([&] { *it; });
      EXPECT_NE(text.find("data_loader: a batch must be there within the timeout of 0.4 s, got "),
                std::string::npos);
      EXPECT_NE(text.find("has read sample 5 for 0."), std::string::npos) << text;
      EXPECT_NE(text.find("(number_5)"), std::string::npos) << text;
      workers = pids_of("aorta-work");
      EXPECT_EQ(workers.size(), 2u);
    }
    for (const int pid : workers) EXPECT_FALSE(is_alive(pid));
  }
}

// Reads sample `slow` for a while.
class Slow : public Numbers {
 public:
  explicit Slow(int64_t slow) : Numbers(12), slow_(slow) {}
  void read(int64_t index, Sample& sample, Generator& random) const override {
    if (index == slow_) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    Numbers::read(index, sample, random);
  }

 private:
  int64_t slow_;
};

TEST(WorkerFaults, ABatchThatIsLateComesWhenItIsAskedForAgain) {
  for (const int64_t slow : {0, 5, 11}) {
    DataLoader loader(make_dataset<Slow>(slow),
                      {.batch_size = 4, .num_workers = 2, .timeout = 0.3, .seed = 6});
    std::string text;
    int late = 0;
    int64_t given = 0;
    for (auto it = loader.begin(); it != loader.end(); ++it) {
      for (bool there = false; !there;) {
        EXPECT_EQ(loader.state().get<int64_t>("batches"), given);
        try {
          text += text_of(*it);
          there = true;
        } catch (const TimeoutError&) {
          ++late;
        }
      }
      ++given;
    }
    EXPECT_EQ(text, expected_text(12, 4)) << slow;
    EXPECT_GE(late, 1) << slow;
    EXPECT_GE(loader.stall_account().wait, 0.3) << slow;
  }
}

// Reads all but the first samples for a while.
class SlowLater : public Numbers {
 public:
  SlowLater() : Numbers(12) {}
  void read(int64_t index, Sample& sample, Generator& random) const override {
    if (index >= 2) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    Numbers::read(index, sample, random);
  }
};

// The program keeps two batches, and an epoch that it has left is still read into all other places.
TEST(WorkerFaults, ATimeoutHoldsWhereEveryPlaceIsBusy) {
  DataLoader loader(make_dataset<SlowLater>(), {.batch_size = 1,
                                                .num_workers = 2,
                                                .timeout = 0.2,
                                                .prefetch_factor = 1,
                                                .persistent_workers = true});
  std::vector<Batch> kept;
  {
    auto it = loader.begin();
    kept.push_back(*it);
    kept.push_back(*++it);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // both workers read the next
  }
  EXPECT_THROW(kept.push_back(*loader.begin()), TimeoutError);
}

TEST(WorkerFaults, ATimeoutThatIsntReachedChangesNothing) {
  DataLoader loader(make_dataset<Numbers>(40),
                    {.batch_size = 4, .num_workers = 2, .timeout = 60, .seed = 6});
  EXPECT_EQ(text_of(loader), expected_text(40, 4));
}

// What a copy of the zygote throws must not run on as a second zygote.
TEST(WorkerFaults, AZygoteThatHasNoMoreMemoryToMapIsOneError) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's own memory is mapped too";
#endif
  const std::vector<int> zygotes = pids_of("aorta-zygote");
  ASSERT_EQ(zygotes.size(), 1u);
  rlimit before{};
  ASSERT_EQ(prlimit(zygotes[0], RLIMIT_AS, nullptr, &before), 0);
  const rlimit little{1 << 20, before.rlim_max};
  DataLoader loader(make_dataset<Numbers>(40), {.batch_size = 4, .num_workers = 2, .seed = 6});
  testing::internal::CaptureStderr();
  ASSERT_EQ(prlimit(zygotes[0], RLIMIT_AS, &little, nullptr), 0);
  const std::string text = error_of([&] { text_of(loader); });
  ASSERT_EQ(prlimit(zygotes[0], RLIMIT_AS, &before, nullptr), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(std::regex_match(
      text, std::regex("shared_memory: shared memory must be mappable, got [0-9]+ bytes: ENOMEM "
                       "\\(Cannot allocate memory\\)")))
      << text;
  EXPECT_EQ(pids_of("aorta-zygote"), zygotes);
  EXPECT_EQ(text_of(loader), expected_text(40, 4));
}

TEST(WorkerFaults, TheWorkersParentMayDie) {
  for (const StartMethod method : kForkingMethods)
    for (const int number : kDeaths)
      for (const int when : {0, 1, 5}) {
        DataLoader loader(make_dataset<Numbers>(120, Trouble::none, 0, "", 0.002),
                          {.batch_size = 4, .num_workers = 2, .seed = 6, .start_method = method});
        std::string text;
        int batches = 0;
        testing::internal::CaptureStderr();
        auto it = loader.begin();
        for (; it != loader.end(); ++it) {
          if (batches++ == when) {
            const int nursery = nursery_pid(2);
            ASSERT_GT(nursery, 0);
            kill(nursery, number);
          }
          text += text_of(*it);
        }
        EXPECT_EQ(text, expected_text(120, 4)) << number << " " << when;
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_NE(said.find("the workers' parent (pid "), std::string::npos) << said;
      }
}

TEST(WorkerFaults, AStoppedParentOfWorkersDoesntKeepTheProgram) {
  for (const StartMethod method : kForkingMethods) {
    std::vector<int> all;
    {
      DataLoader loader(make_dataset<Numbers>(40),
                        {.batch_size = 4, .num_workers = 2, .seed = 6, .start_method = method});
      auto it = loader.begin();
      *it;
      const int nursery = nursery_pid(2);
      ASSERT_GT(nursery, 0);
      all = pids_of("aorta-work");
      kill(nursery, SIGSTOP);
      all.push_back(nursery);
    }
    for (const int pid : all) EXPECT_TRUE(within(1, [&] { return !is_alive(pid); }));
  }
}

TEST(WorkerFaults, LeavingEarlyEndsTheWorkers) {
  for (const StartMethod method : kForkingMethods) {
    DataLoader loader(make_dataset<Numbers>(400, Trouble::none, 0, "", 0.01),
                      {.batch_size = 4, .num_workers = 3, .start_method = method});
    for (const auto& batch : loader) {
      EXPECT_EQ(batch["index"].size(0), 4);
      for (int i = 0; i < 100 && pids_of("aorta-work").size() != 3; ++i) usleep(50'000);
      EXPECT_EQ(pids_of("aorta-work").size(), 3u);
      break;
    }
    EXPECT_EQ(pids_of("aorta-work").size(), 0u);
  }
}

TEST(WorkerFaults, AWorkerInALongReadIsEndedAfterASecond) {
  const double start = static_cast<double>(time(nullptr));
  {
    DataLoader loader(make_dataset<Numbers>(40, Trouble::sleep, 4),
                      {.batch_size = 4, .num_workers = 2});
    *loader.begin();
  }
  EXPECT_EQ(pids_of("aorta-work").size(), 0u);
  EXPECT_LT(static_cast<double>(time(nullptr)) - start, 30);  // the read takes a minute
}

}  // namespace
}  // namespace aorta::data
