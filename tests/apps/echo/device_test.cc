// Where aorta-echo computes, and that it computes the same there: run on a device that is there.
#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/tests/apps/echo/dataset.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace aorta::echo {
namespace {

TrainOptions options_on(const std::string& folder, const std::string& device) {
  TrainOptions options;
  options.data_dir = folder;
  options.model_name = "unet_small";
  options.device = device;
  options.batch_size = 2;
  options.num_workers = 0;
  options.lr = 1e-5;
  return options;
}

/// The loss of each step. Where `stops` is a step, the run goes on there from its state alone.
std::vector<double> losses_on(const TrainOptions& options, int64_t steps, int64_t stops = -1) {
  manual_seed(0);
  auto trainer = std::make_unique<Trainer>(options);
  std::vector<double> found;
  while (true) {
    const double before = trainer->totals().loss;
    if (!trainer->step()) {
      EXPECT_TRUE(std::isfinite(trainer->validate()->loss));
      trainer->end_epoch();
      continue;
    }
    found.push_back(trainer->totals().loss - before);
    if (trainer->steps() == steps) return found;
    if (trainer->steps() != stops) continue;
    const State state = trainer->state();
    trainer.reset();
    manual_seed(1);
    trainer = std::make_unique<Trainer>(options, &state);
  }
}

void expect_near(const std::vector<double>& here, const std::vector<double>& cpu) {
  ASSERT_EQ(here.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(here[i], cpu[i], 1e-4 * cpu[i]) << i;
}

}  // namespace

TEST(Device, AutoIsAGpuWhereThereIsOne) {
  ASSERT_TRUE(cuda::is_available()) << cuda::unavailable_reason();
  EXPECT_EQ(choose_device("auto"), Device("cuda:0"));
  EXPECT_EQ(choose_device("cuda:0"), Device("cuda:0"));
  EXPECT_EQ(choose_device("cpu"), Device("cpu"));
}

// A step takes an emulated device seconds, so there are few; from the third one on they are a
// graph.
TEST(EchoOnADevice, TrainingHasTheLossesOfTheCpuAndGoesOnWithTheSameBits) {
  const std::string folder = testing::tiny_echo_folder("device");
  const TrainOptions options = options_on(folder, "cuda:0");
  const std::vector<double> here = losses_on(options, 4);
  expect_near(here, losses_on(options_on(folder, "cpu"), 4));
  EXPECT_EQ(losses_on(options, 4, 3), here);
}

TEST(EchoOnADevice, SeveralHaveTheLossesOfOne) {
  if (device_count(DeviceType::cuda) < 2) GTEST_SKIP() << "one GPU";
  const std::string folder = testing::tiny_echo_folder("several");
  TrainOptions two = options_on(folder, "auto"), one = options_on(folder, "cpu");
  two.devices = "cuda:0,cuda:1";
  two.batch_size = one.batch_size = 4;
  one.batch_parts = 2;
  expect_near(losses_on(two, 2), losses_on(one, 2));
}

TEST(EchoOnADevice, AStepThatDivergesChangesNothing) {
  Trainer trainer(options_on(testing::tiny_echo_folder("diverges"), "cuda:0"));
  const auto step = [&] {
    if (trainer.step()) return;
    trainer.end_epoch();
    trainer.step();
  };
  for (int i = 0; i < 3; ++i) step();
  std::vector<Tensor> before;
  {
    const NoGradGuard no_grad;
    const std::vector<Tensor> parameters = trainer.net()->parameters();
    Tensor(parameters.back()).fill_(std::numeric_limits<double>::infinity());
    for (const auto& [name, tensor] : trainer.net()->state_dict()) before.push_back(tensor.clone());
  }
  try {
    step();
    ADD_FAILURE() << "a loss that isn't finite must end the training";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::diverged) << failure.what();
  }
  const NamedTensors after = trainer.net()->state_dict();
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(equal(after[i].second, before[i])) << after[i].first;
}

TEST(EchoOnADevice, FindsWhatItFindsOnTheCpu) {
  const std::string folder = testing::tiny_echo_folder("finds", 2);
  const auto found_on = [&](const char* device) {
    manual_seed(3);
    const Segmenter segmenter = make_segmenter("unet_small", {30, 30, 30}, {50, 50, 50});
    segmenter.net->to(Device(device));
    const data::VideoReader video(folder + "/Videos/0X1000.avi");
    std::vector<double> numbers =
        segment_video(segmenter, video, {.batch_size = 4, .side = 0, .tta = 1}).areas;
    const Evaluation evaluation =
        evaluate(segmenter, folder, data::EchoSplit::test, {.batch_size = 2, .num_workers = 0});
    for (const EvaluatedVideo& one : evaluation.videos)
      numbers.insert(numbers.end(), {one.large_volume, one.overlap.large.dice()});
    return numbers;
  };
  const std::vector<double> cpu = found_on("cpu"), here = found_on("cuda:0");
  ASSERT_EQ(here.size(), cpu.size());
  EXPECT_GT(cpu[0], 0);
  for (size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(here[i], cpu[i], 0.01 * cpu[i]) << i;
}

TEST(EchoOnADevice, RealVideosHaveTheBeatsOfTheCpu) {
  const char* folder = std::getenv("AORTA_ECHO");
  if (!folder) GTEST_SKIP() << "AORTA_ECHO names no data";
  const auto found_on = [&](const char* device) {
    const Segmenter segmenter = load_segmenter("apps/echo/left_ventricle.safetensors");
    segmenter.net->to(Device(device));
    const data::Echo videos(folder, data::EchoOptions::segmentation(data::EchoSplit::test));
    return segment_video(segmenter, data::VideoReader(videos.path(0)), {.tta = 1});
  };
  const VideoSegmentation cpu = found_on("cpu"), here = found_on("cuda:0");
  ASSERT_FALSE(cpu.beats.empty());
  ASSERT_EQ(here.beats.size(), cpu.beats.size());
  EXPECT_NEAR(here.ef, cpu.ef, 0.5);
}

TEST(EchoOnADevice, RealVideosHaveTheLossesOfTheCpu) {
  const char* folder = std::getenv("AORTA_ECHO");
  if (!folder) GTEST_SKIP() << "AORTA_ECHO names no data";
  const auto losses = [&](const char* device) {
    TrainOptions options = options_on(folder, device);
    options.lr = 3e-7;  // with 1e-5 also two instruction sets of the CPU are apart by 0.5 % then
    return losses_on(options, 20);
  };
  const std::vector<double> cpu = losses("cpu");
  expect_near(losses("cuda:0"), cpu);
  EXPECT_LT(cpu.back(), cpu.front());
}

}  // namespace aorta::echo
