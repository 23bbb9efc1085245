// What a profiler says that devices did, and when.
#include <aorta/autograd/backward.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/cuda/gpu.h>
#include <aorta/tests/error_text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

namespace aorta {
namespace {

using CudaProfiler = gpu_test::Gpu;

std::vector<std::string> names_of(const Profiler& profiler) {
  std::vector<std::string> names;
  for (const DeviceRange& range : profiler.device_ranges()) names.push_back(range.name);
  return names;
}

/// No range of a stream begins before the one before it has ended.
void expect_in_order(const Profiler& profiler) {
  std::map<std::pair<int, int>, int64_t> ends;
  for (const DeviceRange& range : profiler.device_ranges()) {
    EXPECT_GE(range.duration_ns, 0) << range.name;
    int64_t& end = ends[{range.device.index, range.stream}];
    EXPECT_GE(range.start_ns, end) << range.name;
    end = range.start_ns + range.duration_ns;
  }
}

TEST_F(CudaProfiler, HasARangeALaunch) {
  const Tensor x = full({64, 32}, 0.5, {.device = "cuda"}),
               w = full({32, 8}, 2.0, {.device = "cuda"});
  Profiler profiler;
  {
    const ModuleScope scope("head");
    softmax(matmul(x, w), 1);
  }
  exp(x).cpu();
  profiler.stop();
  exp(x);  // not seen
  ASSERT_EQ(names_of(profiler), (std::vector<std::string>{"matmul", "softmax", "exp", "copy"}));
  expect_in_order(profiler);
  const auto& ranges = profiler.device_ranges();
  EXPECT_EQ(ranges[0].module, "head");
  EXPECT_EQ(ranges[2].module, "");
  EXPECT_EQ(ranges[0].device, Device("cuda:0"));
  int64_t total = 0;
  for (const DeviceRange& range : ranges) {
    EXPECT_EQ(range.stream, 0);
    total += range.duration_ns;
  }
  EXPECT_GT(total, 0);
  // The device begins what the host has queued, and has done it before the host has read it.
  const auto& host = profiler.ranges();
  const auto softmax_queued = std::find_if(
      host.begin(), host.end(), [](const ProfiledRange& r) { return r.name == "softmax"; });
  ASSERT_NE(softmax_queued, host.end());
  EXPECT_GT(ranges[1].start_ns + ranges[1].duration_ns, softmax_queued->start_ns);
}

TEST_F(CudaProfiler, TellsStreamsApart) {
  const Tensor x = full({1 << 16}, 0.5, {.device = "cuda"});
  const Stream side = device().create_stream(0);
  synchronize("cuda:0");
  Profiler profiler;
  const Tensor y = exp(x);
  const Event ready = device().create_event(0);
  device().record_event(ready, device().current_stream(0));
  device().wait_event(ready, side);
  device().set_current_stream(side);
  const Tensor z = log(y);
  device().set_current_stream({Device("cuda:0"), nullptr});
  const Tensor last = sin(x);
  profiler.stop();
  ASSERT_EQ(names_of(profiler), (std::vector<std::string>{"exp", "log", "sin"}));
  expect_in_order(profiler);
  const auto& ranges = profiler.device_ranges();
  EXPECT_EQ(ranges[0].stream, 0);
  EXPECT_EQ(ranges[1].stream, 1);
  EXPECT_EQ(ranges[2].stream, 0);
  EXPECT_GE(ranges[1].start_ns, ranges[0].start_ns + ranges[0].duration_ns) << "it waited";
  device().destroy_event(ready);
  device().destroy_stream(side);
}

TEST_F(CudaProfiler, TellsDevicesApart) {
  if (device().device_count() < 2) GTEST_SKIP() << "one GPU";
  const Tensor x = full({100}, 0.5, {.device = "cuda:0"}),
               y = full({100}, 0.5, {.device = "cuda:1"});
  Profiler profiler;
  exp(y);
  exp(x);
  profiler.stop();
  ASSERT_EQ(names_of(profiler), (std::vector<std::string>{"exp", "exp"}));
  EXPECT_EQ(profiler.device_ranges()[0].device, Device("cuda:1"));
  EXPECT_EQ(profiler.device_ranges()[1].device, Device("cuda:0"));
  EXPECT_EQ(profiler.device_ranges()[1].stream, 0);
}

TEST_F(CudaProfiler, ACapturedStepIsOneRange) {
  const Tensor x = full({100}, 0.5, {.device = "cuda"});
  auto step = capture([](const Tensor& input) { return exp(input) + 1.0; });
  step(x);
  step(x);
  Profiler profiler;
  for (int i = 0; i < 3; ++i) step(x);  // the capture, and launches
  profiler.stop();
  const std::vector<std::string> names = names_of(profiler);
  EXPECT_EQ(std::count(names.begin(), names.end(), "captured step"), 3);
  EXPECT_EQ(std::count(names.begin(), names.end(), "exp"), 0);
  expect_in_order(profiler);
}

TEST_F(CudaProfiler, SeesEveryThread) {
  const Tensor x = full({100}, 0.5, {.device = "cuda"});
  Profiler profiler;
  std::vector<std::thread> pool;
  for (int i = 0; i < 3; ++i) {
    pool.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) exp(x);
    });
  }
  for (std::thread& thread : pool) thread.join();
  profiler.stop();
  EXPECT_EQ(names_of(profiler), std::vector<std::string>(15, "exp"));
  expect_in_order(profiler);
}

TEST_F(CudaProfiler, TableAndTraceHaveTheDevice) {
  const Tensor x = full({100}, 0.5, {.device = "cuda"});
  Profiler profiler;
  exp(x);
  exp(x);
  EXPECT_EQ(error_of([&] { profiler.device_ranges(); }),
            "profiler: it must be stopped before it is read, got one that runs");
  profiler.stop();
  const std::string table = profiler.table();
  EXPECT_NE(table.find("\non device "), std::string::npos) << table;
  EXPECT_NE(table.find("\ncuda:0 exp          2  100.0% "), std::string::npos) << table;
  const std::string path = testing::TempDir() + "device_trace.json";
  profiler.write_trace(path);
  const auto trace = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  std::map<std::string, std::string> titles;
  int ranges = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("pid") == 0) continue;
    EXPECT_EQ(event.at("pid"), 1);
    EXPECT_EQ(event.at("tid"), 0);
    if (event.at("ph") == "M") {
      titles[event.at("name")] = event.at("args").at("name");
    } else {
      ++ranges;
      EXPECT_EQ(event.at("name"), "exp");
      EXPECT_GE(event.at("dur").get<double>(), 0);
    }
  }
  EXPECT_EQ(ranges, 2);
  EXPECT_EQ(titles, (std::map<std::string, std::string>{{"process_name", "cuda:0"},
                                                        {"thread_name", "stream 0"}}));
}

// The gradients of what classifies, each by one kernel, whichever way it goes through memory.
TEST_F(CudaProfiler, GradientsAlongLinesAreOneLaunch) {
  const auto names = [](const Tensor& result, const Tensor& gradient) {
    synchronize("cuda:0");
    Profiler profiler;
    result.backward(gradient);
    profiler.stop();
    return names_of(profiler);
  };
  const Tensor x = full({64, 32}, 0.5, {.device = "cuda"}).requires_grad_();
  const Tensor g = full({64, 32}, 2.0, {.device = "cuda"});
  for (const int64_t dim : {0, 1}) {
    x.set_grad({});
    EXPECT_EQ(names(softmax(x, dim), g), std::vector<std::string>{"softmax_backward"});
    x.set_grad({});
    EXPECT_EQ(names(log_softmax(x, dim), g), std::vector<std::string>{"log_softmax_backward"});
  }
  x.set_grad({});
  const Tensor classes = full({64}, 3, {.dtype = DType::i64, .device = "cuda"});
  EXPECT_EQ(names(cross_entropy(x, classes), full({}, 1.0, {.device = "cuda"})),
            std::vector<std::string>{"cross_entropy_backward"});
}

}  // namespace
}  // namespace aorta
