#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/thread_limit.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace aorta {
namespace {

class ParallelFor : public ::testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }

 private:
  int before_ = get_num_threads();
};

using Ranges = std::set<std::pair<int64_t, int64_t>>;

Ranges ranges_of(int64_t begin, int64_t end, int64_t grain) {
  Ranges ranges;
  std::mutex mutex;
  parallel_for(begin, end, grain, [&](int64_t first, int64_t last) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(ranges.emplace(first, last).second);
  });
  return ranges;
}

// A thread's own limit: those of others stay, and an inner one allows no more than the outer one.
TEST_F(ParallelFor, ALimitIsTheThreads) {
  set_num_threads(4);
  {
    const ThreadLimit two(2);
    EXPECT_EQ(get_num_threads(), 2);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    parallel_for(0, 64, 1, [&](int64_t, int64_t) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    EXPECT_LE(threads.size(), 2u);
    std::thread([] { EXPECT_EQ(get_num_threads(), 4); }).join();
    const ThreadLimit three(3);
    EXPECT_EQ(get_num_threads(), 2);
    const ThreadLimit one(1);
    EXPECT_EQ(get_num_threads(), 1);
  }
  EXPECT_EQ(get_num_threads(), 4);
  EXPECT_EQ(error_of([] { const ThreadLimit none(0); }), "ThreadLimit: at least one thread, got 0");
}

TEST_F(ParallelFor, RangesDependOnTheGrainAlone) {
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(get_num_threads(), threads);
    EXPECT_EQ(ranges_of(0, 10, 3), (Ranges{{0, 3}, {3, 6}, {6, 9}, {9, 10}}));
    EXPECT_EQ(ranges_of(-5, 5, 5), (Ranges{{-5, 0}, {0, 5}}));
    EXPECT_EQ(ranges_of(0, 10, 10), (Ranges{{0, 10}}));
    EXPECT_EQ(ranges_of(0, 10, 100), (Ranges{{0, 10}}));
    EXPECT_EQ(ranges_of(2, 5, 0), (Ranges{{2, 3}, {3, 4}, {4, 5}}));
    EXPECT_EQ(ranges_of(2, 4, -7), (Ranges{{2, 3}, {3, 4}}));
    EXPECT_EQ(ranges_of(3, 3, 1), Ranges{});
    EXPECT_EQ(ranges_of(4, 3, 1), Ranges{});
    EXPECT_EQ(ranges_of(INT64_MAX - 4, INT64_MAX, 3),
              (Ranges{{INT64_MAX - 4, INT64_MAX - 1}, {INT64_MAX - 1, INT64_MAX}}));
  }
}

TEST_F(ParallelFor, EveryIndexOnce) {
  set_num_threads(4);
  std::vector<std::atomic<int>> counts(100003);
  parallel_for(0, 100003, 17, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) counts[static_cast<size_t>(i)].fetch_add(1);
  });
  for (const auto& count : counts) ASSERT_EQ(count.load(), 1);
}

TEST_F(ParallelFor, UsesSeveralThreads) {
  set_num_threads(2);
  std::set<std::thread::id> ids;
  std::mutex mutex;
  std::atomic<int> waiting{0};
  parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    waiting.fetch_add(1);
    // Both ranges are under way at once, or this would wait for ever: give up after a while.
    for (int i = 0; i < 1000000 && waiting.load() < 2; ++i) std::this_thread::yield();
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(ParallelFor, ExceptionsReachTheCaller) {
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    for (int64_t bad : {0, 50, 99}) {
      try {
        parallel_for(0, 100, 1, [&](int64_t i, int64_t) {
          if (i == bad) throw std::runtime_error("range " + std::to_string(i));
        });
        ADD_FAILURE();
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "range " + std::to_string(bad));
      }
    }
    EXPECT_THROW(parallel_for(0, 100, 1, [](int64_t, int64_t) { throw 5; }), int);
    EXPECT_EQ(ranges_of(0, 4, 2).size(), 2u);  // the pool still works
  }
}

TEST_F(ParallelFor, NestedCallsRunOnTheCaller) {
  set_num_threads(3);
  std::atomic<int> total{0}, moved{0};
  parallel_for(0, 6, 1, [&](int64_t, int64_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(0, 10, 1, [&](int64_t first, int64_t last) {
      if (std::this_thread::get_id() != outer) moved.fetch_add(1);
      total.fetch_add(static_cast<int>(last - first));
    });
    EXPECT_THROW(parallel_for(0, 4, 1, [](int64_t, int64_t) { throw std::runtime_error("inner"); }),
                 std::runtime_error);
  });
  EXPECT_EQ(total.load(), 60);
  EXPECT_EQ(moved.load(), 0);
}

TEST_F(ParallelFor, SeveralThreadsCallAtOnce) {
  set_num_threads(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        parallel_for(0, 1000, 10,
                     [&](int64_t first, int64_t last) { total.fetch_add(last - first); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 20 * 1000);
}

// Some that come at once find the team awake, and some that come late find it asleep.
TEST_F(ParallelFor, WorkComesAtAnyTime) {
  set_num_threads(4);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    if (repeat % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> total{0};
    parallel_for(0, 4 + repeat % 5, 1, [&](int64_t, int64_t) { total.fetch_add(1); });
    ASSERT_EQ(total.load(), 4 + repeat % 5);
  }
}

// A team grows and is used in part, and threads that call end with theirs.
TEST_F(ParallelFor, TeamsComeAndGo) {
  const auto tasks = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = tasks();
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::thread([] {
      for (int threads : {2, 5, 3, 6, 1, 4}) {
        set_num_threads(threads);
        EXPECT_EQ(ranges_of(0, 12, 1).size(), 12u);
      }
    }).join();
  }
  EXPECT_EQ(tasks(), before);
}

// What a thread's own objects do as it ends is its own work.
TEST_F(ParallelFor, WorksInAThreadThatEnds) {
  set_num_threads(3);
  static std::atomic<int> total{0};
  struct AtTheEnd {
    ~AtTheEnd() {
      parallel_for(0, 9, 1, [&](int64_t, int64_t) { total.fetch_add(1); });
    }
  };
  std::thread([] {
    thread_local const AtTheEnd end;
    static_cast<void>(&end);  // made before the team, and so ends after it
    parallel_for(0, 3, 1, [&](int64_t, int64_t) { total.fetch_add(1); });
  }).join();
  EXPECT_EQ(total.load(), 12);
}

TEST_F(ParallelFor, ThreadCounts) {
  EXPECT_EQ(error_of([] { set_num_threads(0); }), "set_num_threads: at least one thread, got 0");
  EXPECT_EQ(error_of([] { set_num_threads(-2); }), "set_num_threads: at least one thread, got -2");
  EXPECT_GE(get_num_threads(), 1);
}

// A child has none of the pool's threads: it works alone, and with threads of its own when it is
// told to.
TEST_F(ParallelFor, ForkedChildren) {
  set_num_threads(3);
  const int64_t count = 1 << 20;
  const Tensor x = arange(count, {.dtype = DType::f32}) * 0.001, a = x.view({1024, 1024});
  const Tensor image = x.view({1, 16, 256, 256}), filter = x.slice(0, 0, 16 * 16 * 9);
  const auto results = [&] {
    return std::vector<Tensor>{exp(x * -1), sum(x), matmul(a, a),
                               conv2d(image, filter.view({16, 16, 3, 3}))};
  };
  const std::vector<Tensor> wanted = results();
  const auto same = [&] {
    const std::vector<Tensor> got = results();
    for (size_t i = 0; i < got.size(); ++i) {
      if (!equal(got[i], wanted[i])) return false;
    }
    return true;
  };
  const auto child = [&] {
    if (get_num_threads() != 1) return 1;
    if (!same()) return 2;
    set_num_threads(2);
    if (!same()) return 3;
    const auto grandchild = [&] { return get_num_threads() == 1 && same() ? 0 : 1; };
    return forked(grandchild) == 0 ? 0 : 4;
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(forked(child), 0);
    EXPECT_EQ(get_num_threads(), 3);
    EXPECT_TRUE(same());
  }
}

// Threads that share tensors: reading one and making others of it is safe.
TEST_F(ParallelFor, TensorsFromManyThreads) {
  const Tensor x = arange(1000);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        const Tensor y = add(x.slice(0, t, {}, 2), t).clone();
        if (y[3].item<int>() == 2 * t + 6) good.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good.load(), 200);
}

}  // namespace
}  // namespace aorta
