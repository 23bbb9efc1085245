// What tools are told of a profiler's ranges, how a profiler says who waits, and launches that wait
// because somebody looks for an error.
#include <aorta/core/backends.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/tool_ranges.h>

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

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

// The allocator gives back what it keeps once the device is done, and waits for what other streams
// still read; where cuDNN's engines are timed, the host waits for each.
TEST(ToolRanges, WaitsOfTheAllocatorAndOfTimedEnginesAreNamed) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  const auto waits_of = [](const std::function<void()>& work) {
    synchronize("cuda:0");
    backend(DeviceType::cuda).empty_cache();
    Profiler profiler;
    work();
    profiler.stop();
    std::set<std::string> names;
    for (const ProfiledRange& range : profiler.ranges())
      if (range.name.ends_with(" waits")) names.insert(range.name);
    return names;
  };
  using Names = std::set<std::string>;
  const TensorOptions there{.device = "cuda"};
  EXPECT_EQ(waits_of([&] {
              empty({1 << 20}, there);
              backend(DeviceType::cuda).empty_cache();
            }),
            Names({"empty_cache waits"}));
  const auto with_little_memory = [&](const std::function<void()>& asks) {
    return waits_of([&] {
      emulated::settings().device_bytes = emulated::Memory::get().used(0) + (9 << 20);
      const Tensor kept = empty({1 << 18}, there);
      empty({1 << 20}, there);  // cached, in the way of what is asked for
      asks();
      emulated::settings().device_bytes = emulated::Settings().device_bytes;
    });
  };
  EXPECT_EQ(with_little_memory([&] { empty({3 << 19}, there); }), Names({"allocate waits"}));
  EXPECT_EQ(with_little_memory([&] { zeros({3 << 19}, there); }), Names({"zeros waits"}));
  const Tensor x = ones({1, 8, 8, 8}, there), w = ones({8, 8, 3, 3}, there);
  backends::cudnn::set_benchmark(true);
  const Names timed = waits_of([&] { conv2d(x, w); });
  backends::cudnn::set_benchmark(false);
  EXPECT_EQ(timed, Names({"conv2d waits"}));
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
