// What tools are told of a profiler's ranges, how a profiler says who waits, and launches that wait
// because somebody looks for an error.
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/tool_ranges.h>

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

TEST(ToolRanges, AreAProfilersAndNest) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  const Tensor x = ones({4}, {.device = "cuda"});
  exp(x);
  emulated::take_tool_ranges();
  exp(x);
  EXPECT_TRUE(emulated::take_tool_ranges().empty()) << "nobody asked";
  Profiler profiler;
  {
    const ProfilerRange mine("step");
    exp(x);
  }
  profiler.stop();
  EXPECT_EQ(emulated::take_tool_ranges(), (std::vector<std::string>{"step", "exp", "end", "end"}));
}

TEST(ToolRanges, OneThatOutlivesItsProfilerEnds) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  emulated::take_tool_ranges();
  {
    Profiler profiler;
    const ProfilerRange mine("step");
    profiler.stop();
  }
  EXPECT_EQ(emulated::take_tool_ranges(), (std::vector<std::string>{"step", "end"}));
}

TEST(ToolRanges, RulesThatAreBrokenAreSeen) {
  emulated::Collector collector;
  nvtxEventAttributes_t range{};
  nvtxDomainRangePushEx(nullptr, &range);
  nvtxDomainRangePop(nullptr);
  nvtxDomainRangePop(nullptr);
  const std::vector<std::string> found = collector.take();
  emulated::take_tool_ranges();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[0].find("the structure says its version and size"), std::string::npos);
  EXPECT_NE(found[1].find("a range has a name"), std::string::npos);
  EXPECT_NE(found[2].find("a range must have begun in this thread"), std::string::npos);
}

TEST(ToolRanges, WhoWaitsIsNamed) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  const Tensor x = ones({}, {.device = "cuda"});
  Profiler profiler;
  x.item<float>();
  x.cpu();
  synchronize("cuda:0");
  profiler.stop();
  std::vector<std::string> waits;
  for (const ProfiledRange& range : profiler.ranges())
    if (range.name.ends_with(" waits")) waits.push_back(range.name);
  EXPECT_EQ(waits, (std::vector<std::string>{"item waits", "cpu waits", "synchronize waits"}));
  EXPECT_NE(profiler.table().find("item waits"), std::string::npos);
}

// In a process of its own, by the next test: the variables are read once.
TEST(LaunchBlocking, DISABLED_AnEventBeforeAKernelIsDone) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  DeviceBackend& device = backend(DeviceType::cuda);
  const Tensor x = ones({4}, {.device = "cuda"});
  const Event before = device.create_event(0);
  device.record_event(before, device.current_stream(0));
  exp(x);
  EXPECT_TRUE(device.event_done(before));
  device.destroy_event(before);
}

TEST(LaunchBlocking, EitherVariableAsksForIt) {
  const std::string child =
      std::filesystem::read_symlink("/proc/self/exe").string() +
      " --gtest_also_run_disabled_tests --gtest_filter=LaunchBlocking.DISABLED_* >/dev/null 2>&1";
  EXPECT_EQ(std::system(("AORTA_LAUNCH_BLOCKING=1 " + child).c_str()), 0);
  EXPECT_EQ(std::system(("CUDA_LAUNCH_BLOCKING=1 " + child).c_str()), 0);
  EXPECT_NE(std::system(("CUDA_LAUNCH_BLOCKING=0 " + child).c_str()), 0);
}

}  // namespace
}  // namespace aorta
