#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/data/workers/process.h>
#include <aorta/data/workers/tensor_queue.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <aorta/tests/data/worker_processes.h>
#include <aorta/tests/data/worker_scenarios.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

TEST(Process, SharesSharedTensorsAndCopiesOthers) {
  const Tensor shared = zeros({4}).share_memory(), copied = zeros({4});
  EXPECT_TRUE(shared.is_shared());
  EXPECT_FALSE(copied.is_shared());
  EXPECT_EQ(shared.share_memory().data(), shared.data());
  const auto write = +[](const Tensor& a, const Tensor& b, int64_t i, const std::string& text) {
    a[i].fill_(static_cast<int64_t>(text.size()));
    b[i].fill_(1);
  };
  // A view of shared memory is that view there, too.
  Process first(write, shared, copied, 2, "seven..");
  Process second(write, shared.narrow(0, 1, 3), copied, 2, "12345");
  EXPECT_EQ(first.join(), 0);
  EXPECT_EQ(second.join(), 0);
  EXPECT_EQ(shared.to_vector<float>(), (std::vector<float>{0, 0, 7, 5}));
  EXPECT_EQ(copied.to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
}

// What the program set before init() the zygote's children and its copies know.
TEST(Process, ASpawnedOneHasNothingOfTheProgramButItsArguments) {
  const Tensor shared = zeros({2}).share_memory();
  const auto tell = +[](const Tensor& to, const std::string& text) {
    to[1].fill_(to[0].item<double>() + static_cast<double>(text.size()));
    _exit(is_set_before_init ? 3 : 4);
  };
  double expected = 0;
  for (const auto& [method, code] :
       {std::pair(StartMethod::zygote, 3), std::pair(StartMethod::spawn, 4),
        std::pair(StartMethod::fork, 3)}) {
    shared[0].fill_(++expected);
    EXPECT_EQ(Process(method, tell, shared, "12345").join(), code);
    EXPECT_EQ(shared[1].item<double>(), expected + 5);
  }
  EXPECT_EQ(Process(
                StartMethod::spawn, +[] { fail("job", "it must work", 3); })
                .join(),
            1);
  Process sleeper(
      StartMethod::spawn, +[] { sleep(60); });
  EXPECT_TRUE(sleeper.is_alive());
  sleeper.terminate();
  EXPECT_EQ(sleeper.join(), -SIGTERM);
}

TEST(ProcessPool, SpawnsItsProcessesAnewWhenTheyDie) {
  ProcessPool pool(2, StartMethod::spawn);
  const auto place = +[](int64_t i) {
    if (i == 5) raise(SIGKILL);
    return is_set_before_init ? -1 : i;
  };
  EXPECT_EQ(pool.map(place, {1, 2, 3, 4}), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_NE(error_of([&] { pool.map(place, {5, 1}); }), "");
  EXPECT_EQ(pool.map(place, {6, 7, 8}), (std::vector<int64_t>{6, 7, 8}));
}

// The zygote forks before it copies: what would take more memory than there is, or longer than the
// program waits for its answer, takes it from nobody but the process that it is for.
TEST(Process, ALargeArgumentCostsTheZygoteNothing) {
  const std::vector<int> zygotes = pids_of("aorta-zygote");
  ASSERT_EQ(zygotes.size(), 1u);
  const std::string folder = "/proc/" + std::to_string(zygotes[0]);
  const auto most_kib = [&] {
    std::ifstream file(folder + "/status");
    int64_t kib = -1;
    for (std::string word; file >> word;)
      if (word == "VmHWM:" && file >> kib) break;
    return kib;
  };
  std::ofstream(folder + "/clear_refs") << 5;  // begins anew
  const int64_t before = most_kib();
  ASSERT_GT(before, 0);
  Process process(
      +[](const std::string& text) { _exit(text.size() == 100 << 20 ? 5 : 6); },
      std::string(100 << 20, 'a'));
  EXPECT_EQ(process.join(), 5);
  EXPECT_LT(most_kib() - before, 50 << 10);
}

// Its pid may be another process's when nobody has joined it: the zygote has collected it.
TEST(Process, SignalsNobodyElseWhenItHasEnded) {
  Process ended(+[] {});
  const int pid = ended.pid();
  ASSERT_TRUE(within(20, [&] { return kill(pid, 0) != 0; }));
  pid_t other = 0;
  for (int tries = 0; tries < 20 && other != pid; ++tries) {
    std::ofstream last("/proc/sys/kernel/ns_last_pid");
    if (!(last << pid - 1 << std::flush)) GTEST_SKIP() << "pids can't be chosen here";
    other = fork();
    if (other == 0) {
      pause();
      _exit(0);
    }
    if (other == pid) break;
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  if (other != pid) GTEST_SKIP() << "the pid was taken";
  ended.terminate();
  ended.kill();
  usleep(50'000);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_EQ(ended.join(), 0);
}

// A process of this program's own, whose end the system throws away.
TEST(Process, SaysThatNobodyCanTellHowItEnded) {
  const int status = forked([] {
    signal(SIGCHLD, SIG_IGN);
    EXPECT_EQ(error_of([] { Process(+[] { usleep(50'000), _exit(7); }).join(); }),
              "process: its end must be this program's to collect, got none (is SIGCHLD ignored?)");
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Process, TellsHowItEnded) {
  EXPECT_EQ(Process(
                +[](int code) { _exit(code); }, 9)
                .join(),
            9);
  EXPECT_EQ(Process(+[] { raise(SIGKILL); }).join(), -SIGKILL);
  EXPECT_EQ(Process(+[] { fail("job", "it must work", 3); }).join(), 1);
  Process sleeper(+[] { sleep(60); });
  EXPECT_TRUE(sleeper.is_alive());
  EXPECT_EQ(sleeper.join(0.01), std::nullopt);
  sleeper.terminate();
  EXPECT_EQ(sleeper.join(), -SIGTERM);
  int pid = 0;
  {
    Process left(+[] { sleep(60); });
    pid = left.pid();
    EXPECT_TRUE(is_alive(pid));
  }
  EXPECT_FALSE(is_alive(pid));
}

// poll() counts milliseconds in an int: 2.1e6 seconds are more than that.
TEST(Process, IsWaitedForHoweverLong) {
  EXPECT_EQ(poll_milliseconds(0.25), 250);
  EXPECT_EQ(poll_milliseconds(-1), 0);
  EXPECT_EQ(poll_milliseconds(std::nan("")), 0);
  for (const double seconds : {3e6, 1e10, HUGE_VAL})
    EXPECT_EQ(poll_milliseconds(seconds), 604800000);
  for (const double seconds : {3e6, 1e10, HUGE_VAL}) {
    Process late(+[] { usleep(50'000); });
    EXPECT_EQ(late.join(seconds), std::optional<int>(0)) << seconds;
    const TensorQueue queue(1);
    Process maker(
        +[](const TensorQueue& to) { usleep(50'000), to.put({ones({1})}); }, queue);
    EXPECT_TRUE(queue.get(seconds)) << seconds;
    queue.put({ones({1})});
    Process taker(
        +[](const TensorQueue& from) { usleep(50'000), from.get(); }, queue);
    EXPECT_TRUE(queue.put({ones({1})}, seconds)) << seconds;
    EXPECT_EQ(taker.join(), 0);
  }
}

TEST(Process, IsEndedBeforeItHasBegun) {
  for (const StartMethod method : {StartMethod::zygote, StartMethod::fork, StartMethod::spawn}) {
    for (int i = 0; i < 20; ++i) {
      Process sleeper(
          method, +[] { sleep(60); });
      sleeper.terminate();
      ASSERT_EQ(sleeper.join(30), std::optional<int>(-SIGTERM)) << i;
    }
  }
}

TEST(ProcessPool, MapsInOrder) {
  ProcessPool pool(3);
  std::vector<int64_t> inputs(100);
  std::iota(inputs.begin(), inputs.end(), 0);
  const auto squares = pool.map(
      +[](int64_t i) { return i * i; }, inputs);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(squares[static_cast<size_t>(i)], i * i);
  // Results and inputs larger than a message, and tensors.
  const auto texts = pool.map(+[](const std::string& text) { return text + text; },
                              {std::string(100'000, 'a'), std::string(200'000, 'b')});
  EXPECT_EQ(texts[1], std::string(400'000, 'b'));
  const auto sums =
      pool.map(+[](const Tensor& x) { return x + 1; }, {ones({300, 300}), zeros({2})});
  EXPECT_EQ(sums[0].to_vector<float>(), std::vector<float>(90'000, 2));
  EXPECT_TRUE(pool.map(+[](int64_t i) { return i; }, {}).empty());
}

TEST(ProcessPool, NamesTheFirstCallThatFailsAndGoesOn) {
  ProcessPool pool(2);
  const auto picky = +[](int64_t i) {
    if (i == 3) throw std::out_of_range("three");
    if (i == 5) raise(SIGKILL);
    return i;
  };
  EXPECT_EQ(error_of([&] {
              pool.map(picky, {0, 1, 2, 3, 4, 5});
            }),
            "map: call 3 must succeed, got std::out_of_range: three");
  const std::string text = error_of([&] { pool.map(picky, {5, 1}); });
  EXPECT_EQ(text.rfind("map: call 0 must succeed, got process ", 0), 0u);
  EXPECT_NE(text.find("was killed by signal 9 (SIGKILL)"), std::string::npos);
  EXPECT_EQ(pool.map(picky, {7, 8}), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(error_of([] { ProcessPool(0); }), "process_pool: there must be a process, got 0");
}

// A value that can't be written when it is 3.
struct Picky {
  int64_t value = 0;
};
}  // namespace
}  // namespace aorta::data

template <>
struct aorta::Portable<aorta::data::Picky> {
  static void write(ArgumentWriter& writer, const data::Picky& picky) {
    check(picky.value != 3, "picky", "it can't be 3", picky.value);
    Portable<int64_t>::write(writer, picky.value);
  }
  static data::Picky read(ArgumentReader& reader) { return {Portable<int64_t>::read(reader)}; }
};

namespace aorta::data {
namespace {

TEST(ProcessPool, AMapThatBrokeOffLeavesNothingToTheNext) {
  ProcessPool pool(2);
  const auto slow = +[](const Picky& picky) {
    usleep(50'000);
    return 10 * picky.value;
  };
  EXPECT_EQ(error_of([&] { pool.map(slow, {{1}, {2}, {3}}); }), "picky: it can't be 3, got 3");
  EXPECT_EQ(error_of([&] { pool.map(slow, {{1}, {3}}); }), "picky: it can't be 3, got 3");
  EXPECT_EQ(pool.map(slow, {{5}, {6}, {7}}), (std::vector<int64_t>{50, 60, 70}));
}

void produce(const TensorQueue& queue, int64_t count, int64_t from) {
  for (int64_t i = 0; i < count; ++i) {
    const Tensor frame = queue.buffer({1000}, DType::i64);
    frame.fill_(from + i);
    queue.put({frame, full({2}, from + i)});
  }
}

TEST(TensorQueue, PassesTensorsFromSeveralProcessesAndMemoryReturns) {
  const TensorQueue queue(3);
  Process a(produce, queue, 200, 0), b(produce, queue, 200, 1000);
  std::vector<int64_t> seen;
  for (int i = 0; i < 400; ++i) {
    const auto tensors = queue.get(20.);
    ASSERT_TRUE(tensors && tensors->size() == 2);
    EXPECT_TRUE((*tensors)[0].is_shared());
    const auto values = (*tensors)[0].to_vector<int64_t>();
    EXPECT_EQ(values, std::vector<int64_t>(1000, values[0]));
    EXPECT_EQ((*tensors)[1].to_vector<float>(),
              std::vector<float>(2, static_cast<float>(values[0])));
    seen.push_back(values[0]);
  }
  EXPECT_EQ(a.join(), 0);
  EXPECT_EQ(b.join(), 0);
  EXPECT_EQ(queue.get(0.), std::nullopt);
  // Each producer's own order is kept.
  std::vector<int64_t> first, second;
  for (const int64_t value : seen) (value < 1000 ? first : second).push_back(value);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  EXPECT_TRUE(std::is_sorted(second.begin(), second.end()));
  EXPECT_EQ(first.size(), 200u);
}

TEST(TensorQueue, CopiesNothingThatIsShared) {
  const TensorQueue queue(4);
  const Tensor shared = arange(6).share_memory();
  queue.put({shared});
  const auto got = queue.get();
  (*got)[0].fill_(3);  // the same memory, mapped twice
  EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(6, 3));
  // And what was received can be handed on.
  queue.put({(*got)[0]});
  (*queue.get())[0].fill_(4);
  EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(6, 4));
}

TEST(TensorQueue, MemoryIsUsedAgain) {
  const TensorQueue queue(2);
  const void* first = nullptr;
  int again = 0;
  for (int i = 0; i < 10; ++i) {
    {
      const Tensor frame = queue.buffer({5000}, DType::f32);
      if (i == 0) first = frame.data();
      again += frame.data() == first;
      queue.put({frame});
    }
    queue.get();
  }
  EXPECT_EQ(again, 10);
}

TEST(TensorQueue, MemoryOfOnesOwnIsGivenOnAndNotKept) {
  const TensorQueue queue(2);
  size_t before = 0;
  for (int i = 0; i < 300; ++i) {
    queue.put({full({4}, i).share_memory()});
    EXPECT_EQ((*queue.get())[0].to_vector<float>(), std::vector<float>(4, static_cast<float>(i)));
    if (i == 10) before = open_descriptors();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(TensorQueue, WhatIsKeptBlocksNobody) {
  // More than messages that wait in a socket would be.
  const TensorQueue queue(2);
  std::vector<Tensor> kept;
  for (int64_t i = 0; i < 320; ++i) {
    queue.put({full({3}, i)});
    kept.push_back((*queue.get())[0]);
  }
  for (int64_t i = 0; i < 320; ++i) EXPECT_EQ(kept[static_cast<size_t>(i)][2].item<int64_t>(), i);
  kept.clear();
  // Sizes that never fit again aren't kept for ever, either.
  const size_t before = open_descriptors();
  for (int64_t i = 0; i < 200; ++i) queue.buffer({1 << (i % 20)}, DType::u8);
  EXPECT_LE(open_descriptors(), before);
}

void relay(const TensorQueue& from, const TensorQueue& to) {
  while (const auto tensors = from.get()) to.put(*tensors);
}

TEST(TensorQueue, WhatIsHandedOnReturnsToItsMakerWhenTheLastHasLetGo) {
  const TensorQueue first(2), second(2);
  Process between(relay, first, second);
  std::set<const void*> places;
  std::vector<Tensor> kept;
  for (int64_t i = 0; i < 100; ++i) {
    {
      const Tensor frame = first.buffer({1000}, DType::i64);
      places.insert(frame.data());
      frame.fill_(i);
      first.put({frame});
    }
    const auto got = second.get(20.);
    ASSERT_TRUE(got);
    EXPECT_EQ((*got)[0].to_vector<int64_t>(), std::vector<int64_t>(1000, i));
    if (i % 25 == 0) kept.push_back((*got)[0]);
  }
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i].to_vector<int64_t>(),
              std::vector<int64_t>(1000, static_cast<int64_t>(25 * i)));
  EXPECT_LE(places.size(), 10u);  // 4 are kept, a few under way
  first.close();
  EXPECT_EQ(between.join(), 0);
}

TEST(TensorQueue, APutThatFailsTakesNoRoom) {
  const TensorQueue queue(1);
  const Tensor endless = zeros({1}).expand({int64_t{1} << 46});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(error_of([&] {
                queue.put({endless}, 0.);
              }).rfind("tensor_queue: shared memory must fit", 0),
              0u);
  EXPECT_TRUE(queue.put({ones({1})}, 0.));
  EXPECT_FALSE(queue.put({ones({1})}, 0.));
}

TEST(TensorQueue, IsBoundedAndCanBeClosed) {
  const TensorQueue queue(2);
  EXPECT_TRUE(queue.put({ones({1})}));
  EXPECT_TRUE(queue.put({ones({1})}));
  EXPECT_FALSE(queue.put({ones({1})}, 0.01));
  queue.close();
  EXPECT_EQ(error_of([&] { queue.put({ones({1})}); }),
            "tensor_queue: a queue must be open, got a closed one");
  EXPECT_TRUE(queue.get());
  EXPECT_TRUE(queue.get());
  EXPECT_EQ(queue.get(), std::nullopt);
  EXPECT_EQ(error_of([] { TensorQueue(0); }), "tensor_queue: capacity must be at least 1, got 0");
}

}  // namespace
}  // namespace aorta::data
