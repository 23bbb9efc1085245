#include <aorta/rpc/future.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <thread>

namespace aorta::futures {
namespace {

TEST(Future, HasItsValueWhenItIsSet) {
  const Future<int> future;
  EXPECT_FALSE(future.done());
  EXPECT_EQ(error_of([&] { future.value(); }), "future: it must be done, got one that waits");
  future.set_result(3);
  EXPECT_TRUE(future.done());
  EXPECT_EQ(future.wait(), 3);
  EXPECT_EQ(future.value(), 3);
  EXPECT_EQ(error_of([&] { future.set_result(4); }),
            "future: it is completed once, got a second time");
  EXPECT_EQ(error_of([&] { future.set_exception(Error("x")); }),
            "future: it is completed once, got a second time");
  EXPECT_EQ(future.value(), 3);
  const Future<> none;
  none.set_result();
  none.wait();
}

TEST(Future, ThrowsWhatWasSet) {
  const Future<int> future;
  future.set_exception(Error("op: rule, got 1"));
  EXPECT_EQ(error_of([&] { future.wait(); }), "op: rule, got 1");
  EXPECT_EQ(error_of([&] { future.value(); }), "op: rule, got 1");
  const Future<int> rank;
  rank.set_exception(RankError("rank 1 is gone"));
  EXPECT_THROW(rank.wait(), RankError);
}

TEST(Future, CallsWhatFollows) {
  const Future<int> future;
  std::vector<int> order;
  const auto text = future.then([&](const Future<int>& done) {
    order.push_back(1);
    return std::to_string(done.value());
  });
  const auto longer = text.then([](const auto& done) { return done.value() + "!"; });
  future.add_done_callback([&](const Future<int>&) { order.push_back(2); });
  future.add_done_callback([](const Future<int>&) { throw Error("it is lost"); });
  EXPECT_FALSE(longer.done());
  future.set_result(5);
  EXPECT_EQ(longer.wait(), "5!");
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(future.then([](const auto& done) { return done.value() + 1; }).value(), 6);
}

TEST(Future, HandsErrorsOn) {
  const Future<int> future;
  const auto next = future.then([](const auto& done) { return done.value() + 1; });
  const auto last = next.then([](const auto& done) { return done.value() + 1; });
  const auto saved = last.then([](const auto& done) { return error_of([&] { done.value(); }); });
  future.set_exception(Error("no"));
  EXPECT_EQ(error_of([&] { last.wait(); }), "no");
  EXPECT_EQ(saved.wait(), "no");
}

TEST(Future, WaitsForAll) {
  std::vector<Future<int>> futures(5);
  const auto all = collect_all(futures);
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([future = futures[static_cast<size_t>(i)], i] { future.set_result(i); });
  EXPECT_EQ(wait_all(futures), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(all.wait().size(), 5u);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(collect_all(std::vector<Future<int>>()).done());
  EXPECT_TRUE(wait_all(std::vector<Future<int>>()).empty());
}

TEST(Future, WaitsForAllBeforeItThrowsTheFirstError) {
  std::vector<Future<>> futures(3);
  std::thread late([&] {
    futures[2].set_exception(Error("third"));
    futures[1].set_exception(Error("second"));
    futures[0].set_result();
  });
  EXPECT_EQ(error_of([&] { wait_all(futures); }), "second");
  EXPECT_TRUE(futures[0].done());
  late.join();
}

TEST(Future, IsThereForManyThreads) {
  const Future<int> start;
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 50; ++j)
        start.add_done_callback([&](const Future<int>& done) { sum += done.value(); });
      if (i == 3) start.set_result(2);
      sum += start.wait();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 8 * 51 * 2);
}

}  // namespace
}  // namespace aorta::futures
