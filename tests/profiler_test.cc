#include <aorta/autograd/backward.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace aorta {
namespace {

std::vector<std::string> names_of(const Profiler& profiler) {
  std::vector<std::string> names;
  for (const ProfiledRange& range : profiler.ranges()) names.push_back(range.name);
  return names;
}

const ProfiledRange& find(const Profiler& profiler, const std::string& name) {
  const auto& ranges = profiler.ranges();
  const auto found = std::find_if(ranges.begin(), ranges.end(),
                                  [&](const ProfiledRange& r) { return r.name == name; });
  check(found != ranges.end(), "test", "there must be a range", name);
  return *found;
}

TEST(Profiler, IsReadWhenItHasStopped) {
  const std::string rule = "profiler: it must be stopped before it is read, got one that runs";
  Profiler profiler;
  EXPECT_EQ(error_of([&] { profiler.ranges(); }), rule);
  EXPECT_EQ(error_of([&] { profiler.table(); }), rule);
  EXPECT_EQ(error_of([&] { profiler.write_trace(testing::TempDir() + "trace.json"); }), rule);
  profiler.stop();
  EXPECT_TRUE(profiler.ranges().empty());
}

TEST(Profiler, RecordsOpsTheirShapesModulesAndGradients) {
  const Tensor x = ones({3, 4}), w = ones({4, 2}).requires_grad_();
  Profiler profiler;
  {
    const ProfilerRange step("step");
    const ModuleScope scope("hidden");
    sum(relu(matmul(x, w))).backward();
  }
  profiler.stop();
  relu(x);  // not seen
  const std::vector<std::string> expected = {"step", "matmul", "relu", "sum"};
  std::vector<std::string> names = names_of(profiler);
  ASSERT_GE(names.size(), 7u);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), names.begin()));
  EXPECT_EQ(std::count(names.begin(), names.end(), "relu"), 1);
  EXPECT_EQ(find(profiler, "matmul").shapes, "[3,4], [4,2]");
  EXPECT_EQ(find(profiler, "matmul").module, "hidden");
  EXPECT_EQ(find(profiler, "relu backward").shapes, "[3,2]");
  EXPECT_EQ(find(profiler, "matmul backward").shapes, "[3,2]");
  const ProfiledRange& step = find(profiler, "step");
  for (const ProfiledRange& range : profiler.ranges()) {
    EXPECT_GE(range.duration_ns, 0) << range.name;
    EXPECT_GE(range.start_ns, step.start_ns);
    EXPECT_LE(range.start_ns + range.duration_ns, step.start_ns + step.duration_ns) << range.name;
  }
}

TEST(Profiler, TableSumsByNameAndShapesAndTakesInnerRangesOff) {
  const std::string longest = "a name that is longer than any table's column would be";
  const Tensor small = ones({2, 3}), large = ones({200, 300});
  Profiler profiler;
  {
    const ProfilerRange outer("outer");
    for (int i = 0; i < 3; ++i) const ProfilerRange inner(longest.c_str());
    for (int i = 0; i < 2; ++i) const ProfilerRange op("op", {&small, &large});
    const ProfilerRange op("op", {&large});
  }
  profiler.stop();
  const std::string table = profiler.table();
  std::vector<std::string> lines;
  std::istringstream text(table);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 5u) << table;
  EXPECT_EQ(lines[0], "name" + std::string(longest.size() - 4, ' ') +
                          "      calls   share     own ms    total ms     mean ms  shapes");
  const size_t shapes = lines[0].find("shapes");
  double shares = 0, own = 0, all = 0;
  int found = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const std::string name = line.substr(0, line.find("  "));
    long long calls = 0;
    double share = 0, own_ms = 0, total_ms = 0, mean_ms = 0;
    ASSERT_EQ(std::sscanf(line.c_str() + longest.size(), "%lld %lf%% %lf %lf %lf", &calls, &share,
                          &own_ms, &total_ms, &mean_ms),
              5)
        << line;
    const std::string rest = line.size() > shapes ? line.substr(shapes) : "";
    found += (name == "outer" && calls == 1 && rest.empty()) +
             (line.starts_with(longest + " ") && calls == 3 && rest.empty()) +
             (name == "op" && calls == 2 && rest == "[2,3], [200,300]") +
             (name == "op" && calls == 1 && rest == "[200,300]");
    shares += share;
    own += own_ms;
    if (name == "outer") all = total_ms;
  }
  EXPECT_EQ(found, 4) << table;
  EXPECT_NEAR(shares, 100, 0.3) << table;
  EXPECT_NEAR(own, all, 0.003) << table;
}

TEST(Profiler, SeesEveryThread) {
  Profiler profiler;
  std::vector<std::thread> pool;
  for (int i = 0; i < 3; ++i) {
    pool.emplace_back([] {
      for (int turn = 0; turn < 10; ++turn) sum(ones({4}) * 2);
    });
  }
  for (std::thread& thread : pool) thread.join();
  profiler.stop();
  std::set<int> threads;
  int products = 0;
  for (const ProfiledRange& range : profiler.ranges()) {
    threads.insert(range.thread);
    products += range.name == "mul";
  }
  EXPECT_EQ(threads, (std::set<int>{1, 2, 3}));
  EXPECT_EQ(products, 30);
}

TEST(Profiler, TraceIsChromes) {
  const std::string path = testing::TempDir() + "trace \"1\".json";
  Profiler profiler;
  const Tensor x = ones({2, 3});
  {
    const ModuleScope scope("a\"b");
    exp(x);
  }
  profiler.stop();
  profiler.write_trace(path);
  const auto trace = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  bool found = false;
  for (const auto& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("dur").get<double>(), 0);
    EXPECT_TRUE(event.contains("ts") && event.contains("tid") && event.contains("pid"));
    if (event.at("name") != "exp") continue;
    found = true;
    EXPECT_EQ(event.at("args").at("shapes"), "[2,3]");
    EXPECT_EQ(event.at("args").at("module"), "a\"b");
  }
  EXPECT_TRUE(found);
}

TEST(Profiler, OneAtATimeAndAgain) {
  {
    Profiler profiler;
    EXPECT_THROW(Profiler(), Error);
  }
  const ProfilerRange before("before");
  Profiler profiler;
  const auto open = std::make_unique<ProfilerRange>("open");
  profiler.stop();
  profiler.stop();
  EXPECT_EQ(names_of(profiler), std::vector<std::string>{"open"});
  EXPECT_GE(profiler.ranges()[0].duration_ns, 0);
}

}  // namespace
}  // namespace aorta
