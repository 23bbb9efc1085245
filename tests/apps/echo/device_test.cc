// Where `--device auto` computes, on a device whose kernels are not all there yet.
#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/tests/op_kernels.h>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace aorta::echo {
namespace {

/// The ops that a step of training runs.
std::set<std::string> ops_of_a_step(const std::string& network) {
  Segmenter segmenter = make_segmenter(network, {0, 0, 0}, {1, 1, 1});
  segmenter.net->train();
  const Tensor frames = zeros({2, 3, 32, 32}, {.dtype = u8}), truth = zeros({2, 32, 32});
  return catalog::kernels_run([&](const catalog::Tensors&) {
    const Tensor logits = segmenter.logits(segmenter.normalised({frames}));
    binary_cross_entropy_with_logits(logits, truth, {.reduction = Reduction::sum}).backward();
  });
}

}  // namespace

TEST(Device, AutoIsAGpuThatHasAllKernels) {
  ASSERT_TRUE(cuda::is_available()) << cuda::unavailable_reason();
  std::string missing;
  for (const kernel::OpRow* op : ops_of_networks())
    if (missing.empty() && !op->has_kernel(DeviceType::cuda)) missing = op->name();
  EXPECT_EQ(choose_device("auto"), Device(missing.empty() ? "cuda:0" : "cpu"));
  EXPECT_EQ(device_note("auto"),
            missing.empty()
                ? ""
                : "--device auto: the CPU, for cuda:0 has no kernel of " + missing + " yet");
}

TEST(Device, WhatIsNamedIsTaken) {
  EXPECT_EQ(choose_device("cuda:0"), Device("cuda:0"));
  EXPECT_EQ(choose_device("cpu"), Device("cpu"));
  EXPECT_EQ(device_note("cuda:0"), "");
  EXPECT_EQ(device_note("cpu"), "");
}

// An op that a network needs and the list lacks would end a training on a GPU that auto has chosen.
TEST(Device, TheListHasAllThatADeviceLacks) {
  ASSERT_TRUE(cuda::is_available());
  std::set<std::string> listed, run;
  for (const kernel::OpRow* op : ops_of_networks()) listed.insert(op->name());
  for (const char* network : {"deeplabv3_resnet50", "fcn_resnet50", "unet_small"})
    run.merge(ops_of_a_step(network));
  for (const std::string& name : listed)
    EXPECT_TRUE(run.contains(name)) << name << " is needed by no network";
  for (const std::string& name : run)
    EXPECT_TRUE(listed.contains(name) || catalog::find_op(name)->has_kernel(DeviceType::cuda))
        << name << " isn't listed";
}

}  // namespace aorta::echo
