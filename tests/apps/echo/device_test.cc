// Where aorta-echo computes, and that it computes the same there: run on a device that is there.
#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/apps/echo/video/clip_evaluation.h>
#include <aorta/apps/echo/video/clip_trainer.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/apps/echo/dataset.h>
#include <aorta/tests/apps/echo/hearts.h>
#include <aorta/tests/child_program.h>
#include <aorta/tests/needs_gpu.h>
#include <aorta/tests/test_folder.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace aorta::echo {
namespace {

using ChosenDevice = NeedsGpu;
using EchoOnADevice = NeedsGpu;

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

using Names = std::set<std::string>;

/// What waits for a device in `work`, by the profiler's names.
Names waits_of(const std::function<void()>& work) {
  Profiler profiler;
  work();
  profiler.stop();
  Names names;
  for (const ProfiledRange& range : profiler.ranges())
    if (range.name.ends_with(" waits")) names.insert(range.name);
  return names;
}

/// The mean of a clip's pixels.
struct Brightness : nn::Module {
  nn::Parameter one{*this, "one", ones({1})};
  Tensor forward(const Tensor& clips) const override {
    return mean(clips.flatten(1), 1, true) * one;
  }
};

Regressor brightness_regressor() {
  return {.model_name = "brightness",
          .net = Brightness(),
          .mean = {0, 0, 0},
          .std = {1, 1, 1},
          .task = "EF",
          .frames = 3,
          .period = 1};
}

/// While it lives, the GPU has no kernel of an op.
class WithoutKernel {
 public:
  explicit WithoutKernel(const std::string& name) {
    for (op_ = kernel::first_op(); op_->name() != name;) op_ = op_->next();
    kernel_ = (op_->*&AnyOp::find_kernel)(DeviceType::cuda);
    set(nullptr);
  }
  ~WithoutKernel() { set(kernel_); }
  WithoutKernel(const WithoutKernel&) = delete;
  WithoutKernel& operator=(const WithoutKernel&) = delete;

 private:
  struct AnyOp : kernel::OpRow {
    using OpRow::find_kernel, OpRow::Function, OpRow::set_kernel_function;
  };
  void set(AnyOp::Function kernel) {
    (const_cast<kernel::OpRow*>(op_)->*&AnyOp::set_kernel_function)(DeviceType::cuda, kernel);
  }

  const kernel::OpRow* op_;
  AnyOp::Function kernel_;
};

/// What a checkpoint says of the steps before it.
struct Saved {
  int64_t in_epoch;
  double loss;  // of the epoch so far
};

/// So that aorta-echo finds the emulated device.
std::vector<std::string> environment_of_program() {
  const char* const others = std::getenv("LD_LIBRARY_PATH");  // CUDA's, on a machine with a GPU
  return {std::string("LD_LIBRARY_PATH=tests/cuda/emulated/driver:") + (others ? others : ""),
          // The other tests have launched the same, and looked.
          "AORTA_EMULATED_RACES=0"};
}

/// What begins a run that saves behind each step.
std::vector<std::string> flags_of(const TrainOptions& options) {
  return {"--data_dir",    options.data_dir,
          "--model_name",  options.model_name,
          "--device",      options.device,
          "--batch_size",  std::to_string(options.batch_size),
          "--lr",          (std::ostringstream() << options.lr).str(),
          "--num_workers", "2",
          "--save_every",  "1e-9",
          "--quiet"};
}

/// Runs aorta-echo until its checkpoint is of step `last`, and kills it, which is then within the
/// next step. Notes what it saves on the way.
void run_to(int64_t last, const std::vector<std::string>& flags, const std::string& run,
            std::map<int64_t, Saved>& saved) {
  std::vector<std::string> command = {"apps/echo/aorta-echo", "train", "--output", run};
  command.insert(command.end(), flags.begin(), flags.end());
  ChildProgram program(command, environment_of_program());
  std::filesystem::file_time_type seen;
  while (saved.empty() || saved.rbegin()->first < last) {
    ASSERT_TRUE(program.runs()) << "it ended by itself: " << program.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::string path = run + "/checkpoint.safetensors";
    std::error_code is_not_there;
    const auto written = std::filesystem::last_write_time(path, is_not_there);
    if (is_not_there || written == seen) continue;
    seen = written;
    // Where this process came late the one before is there too.
    for (const std::string& file : {path + ".1", path}) {
      if (!std::filesystem::exists(file)) continue;
      const State state = State::load(file);
      const auto in_epoch = state.get<int64_t>("progress.epoch_steps");
      const auto step = state.get<int64_t>("progress.steps");
      if (in_epoch > 0) saved[step] = {in_epoch, state.get<double>("progress.loss")};
      ASSERT_GE(step, saved.rbegin()->first - 1) << "it must go on where it was";
    }
  }
  const int status = program.end_with(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

/// The loss of each step of aorta-echo on a device: killed after `stops`, and gone on with.
std::vector<double> losses_of_program(const TrainOptions& options, int64_t steps, int64_t stops) {
  const TestFolder folder;
  const std::string run = folder.file("run");
  std::map<int64_t, Saved> saved;
  run_to(stops, flags_of(options), run, saved);
  if (!::testing::Test::HasFatalFailure()) run_to(steps, {"--resume", "--quiet"}, run, saved);
  std::vector<double> losses;
  for (const auto& [step, so_far] : saved) {
    const bool begins = so_far.in_epoch == 1;
    EXPECT_TRUE(begins || saved.contains(step - 1)) << "what step " << step - 1 << " saved";
    losses.push_back(so_far.loss - (begins ? 0 : saved[step - 1].loss));
  }
  return losses;
}

/// The real videos as videos to train on, all of them. The first one is there a second time, to
/// validate with.
void write_all_to_train(const std::string& real, const TestFolder& folder) {
  const std::filesystem::path videos = std::filesystem::path(real) / "Videos";
  std::filesystem::create_directory(folder.path / "Videos");
  std::ifstream list(real + "/FileList.csv"), traces(real + "/VolumeTracings.csv");
  std::string line, of_list, of_traces, first;
  std::getline(list, of_list);
  while (std::getline(list, line)) {
    const std::string name = line.substr(0, line.find(',')), file = name + ".avi";
    const std::string rest = line.substr(name.size(), line.rfind(',') - name.size());
    std::filesystem::create_symlink(videos / file, folder.path / "Videos" / file);
    of_list += "\n" + name + rest + ",TRAIN";
    if (!first.empty()) continue;
    first = file;
    std::filesystem::create_symlink(videos / file, folder.path / "Videos/again.avi");
    of_list += "\nagain" + rest + ",VAL";
  }
  while (std::getline(traces, line)) {
    of_traces += line + "\n";
    if (line.starts_with(first)) of_traces += "again.avi" + line.substr(first.size()) + "\n";
  }
  folder.write("FileList.csv", of_list + "\n");
  folder.write("VolumeTracings.csv", of_traces);
}

}  // namespace

TEST_F(ChosenDevice, AutoIsAGpuWhereThereIsOne) {
  const auto nothing = [](Device) {};
  EXPECT_EQ(choose_device("auto", nothing), Device("cuda:0"));
  EXPECT_EQ(choose_device("cuda:0", nothing), Device("cuda:0"));
  EXPECT_EQ(choose_device("cpu", nothing), Device("cpu"));
}

// A kernel may be missing of an op that no network has, and not of one that the step has.
TEST_F(ChosenDevice, AutoIsTheCpuWhereTheGpuLacksAKernelOfTheStep) {
  const TrainOptions options = options_on(tiny_echo_folder("lacks"), "auto");
  const Segmenter segmenter = make_segmenter("unet_small", {30, 30, 30}, {50, 50, 50});
  const auto found = [&](Device device) { segmenter.try_on(device); };
  const auto chosen_without = [&](const char* op) {
    const WithoutKernel gap(op);
    return to_string(choose_device("auto", found));
  };
  EXPECT_EQ(chosen_without("ctc_loss"), "cuda:0");
  manual_seed(4);
  const GeneratorState before = default_generator().state();
  ::testing::internal::CaptureStderr();
  {
    const WithoutKernel gap("max_pool_backward");
    EXPECT_EQ(choose_device("auto", [&](Device device) { try_step(options, device); }), Device());
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: --device auto: the CPU computes, for the GPU has no kernel of "
            "max_pool_backward\n");
  EXPECT_EQ(default_generator().state().position, before.position);
  EXPECT_EQ(chosen_without("max_pool"), "cpu");
  const WithoutKernel gap("update");
  EXPECT_EQ(Trainer(options).device(), Device());
  EXPECT_EQ(choose_device("cuda:0", found), Device("cuda:0"));
}

TEST(TriedStep, RunsOnTheCpuToo) {
  TrainOptions clips = options_on("", "cpu");
  clips.model_name = "unet_3d";
  clips.pretrain_epochs = 1;
  VideoOptions video;
  video.model_name = "r3d_18";
  video.frames = 4;
  const data::ChannelStatistics pixels{.mean = {30, 30, 30}, .std = {50, 50, 50}};
  EXPECT_NO_THROW(try_step(clips, "cpu"));
  EXPECT_NO_THROW(try_step(video, "cpu"));
  EXPECT_NO_THROW(make_segmenter("unet_3d", pixels.mean, pixels.std).try_on("cpu"));
  EXPECT_NO_THROW(make_regressor("r3d_18", pixels, "EF", 4, 1).try_on("cpu"));
}

// A step takes an emulated device seconds, so there are few; from the third one on they are a
// graph.
TEST_F(EchoOnADevice, TrainingHasTheLossesOfTheCpuAndGoesOnWithTheSameBits) {
  const std::string folder = tiny_echo_folder("device");
  const TrainOptions options = options_on(folder, "cuda:0");
  const std::vector<double> here = losses_on(options, 4);
  expect_near(here, losses_on(options_on(folder, "cpu"), 4));
  EXPECT_EQ(losses_on(options, 4, 3), here);
}

TEST_F(EchoOnADevice, TheProgramIsKilledAndHasTheLossesOfTheCpu) {
  const std::string folder = tiny_echo_folder("program", 12);
  const auto options = [&](const char* device) {
    TrainOptions given = options_on(folder, device);
    given.batch_size = 1;
    return given;
  };
  const std::vector<double> cpu = losses_on(options("cpu"), 8);
  expect_near(losses_of_program(options("cuda:0"), 8, 4), cpu);
  EXPECT_LT(cpu.back(), cpu.front());
}

// Its checkpoint is written beside the next steps; the disk has room for the weights, and not for
// the optimizer's state.
TEST_F(EchoOnADevice, AFullDiskEndsTheProgramAndTheCheckpointBeforeStays) {
  const TestFolder folder;
  TrainOptions options = options_on(tiny_echo_folder("full_disk"), "cuda:0");
  options.batch_size = 1;
  const std::string run = folder.file("run"), checkpoint = run + "/checkpoint.safetensors";
  std::map<int64_t, Saved> saved;
  run_to(1, flags_of(options), run, saved);
  const std::string before = read_text(checkpoint);
  ASSERT_GT(before.size(), 12u << 20);
  ChildProgram program(
      {"/bin/sh", "-c", "exec prlimit --fsize=10000000 \"$@\" 2>\"$0\"", folder.file("said"),
       "apps/echo/aorta-echo", "train", "--resume", "--output", run, "--quiet"},
      environment_of_program());
  const int status = program.wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::storage))
      << status;
  const std::string said = read_text(folder.file("said"));
  EXPECT_NE(said.find("checkpoint.safetensors: writing must succeed"), std::string::npos) << said;
  EXPECT_NE(said.find("got EFBIG"), std::string::npos) << said;
  EXPECT_TRUE(read_text(checkpoint) == before);
  for (const auto& entry : std::filesystem::directory_iterator(run))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
}

TEST_F(EchoOnADevice, TheProgramHasTheLossesOfTheCpuOnRealVideos) {
  const char* real = std::getenv("AORTA_ECHO");
  if (!real) GTEST_SKIP() << "AORTA_ECHO names no data";
  const TestFolder folder;
  write_all_to_train(real, folder);
  const auto options = [&](const char* device) {
    TrainOptions given = options_on(folder.str(), device);
    given.batch_size = 1;
    given.lr = 3e-7;  // with 1e-5 also two instruction sets of the CPU are apart by 0.5 % then
    return given;
  };
  EXPECT_EQ(
      data::Echo(folder.str(), data::EchoOptions::segmentation(data::EchoSplit::train)).size(), 17);
  expect_near(losses_of_program(options("cuda:0"), 20, 9), losses_on(options("cpu"), 20));
}

TEST_F(EchoOnADevice, SeveralHaveTheLossesOfOne) {
  if (device_count(DeviceType::cuda) < 2) GTEST_SKIP() << "one GPU";
  const std::string folder = tiny_echo_folder("several");
  TrainOptions two = options_on(folder, "auto"), one = options_on(folder, "cpu");
  two.devices = "cuda:0,cuda:1";
  two.batch_size = one.batch_size = 4;
  one.batch_parts = 2;
  expect_near(losses_on(two, 2), losses_on(one, 2));
}

TEST_F(EchoOnADevice, AStepThatDivergesChangesNothing) {
  Trainer trainer(options_on(tiny_echo_folder("diverges"), "cuda:0"));
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

TEST_F(EchoOnADevice, FindsWhatItFindsOnTheCpu) {
  const std::string folder = tiny_echo_folder("finds", 2);
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

// Batches are page-locked and copied beside the program's work: the host waits for results alone,
// and a loader's end for what is on its way.
TEST_F(EchoOnADevice, BatchesOfTrainingGoToItWithoutAWait) {
  Trainer trainer(options_on(tiny_echo_folder("training_waits"), "cuda:0"));
  EXPECT_EQ(waits_of([&] { EXPECT_TRUE(trainer.step()); }),
            Names({"item waits", "to_vector waits"}));
  EXPECT_EQ(waits_of([&] { trainer.validate(); }), Names({"item waits", "to_vector waits"}));
}

TEST_F(EchoOnADevice, BatchesOfEvaluationGoToItWithoutAWait) {
  const std::string folder = tiny_echo_folder("evaluation_waits", 2);
  const Segmenter segmenter = brightness_segmenter(), here = brightness_segmenter();
  here.net->to("cuda:0");
  const Regressor regressor = brightness_regressor(), regressor_here = brightness_regressor();
  regressor_here.net->to("cuda:0");
  const auto of_frames = [&](const Segmenter& by, int workers) {
    return to_string(
        evaluate(by, folder, data::EchoSplit::all, {.batch_size = 4, .num_workers = workers}));
  };
  const auto of_clips = [&](const Regressor& by, int workers) {
    return to_string(evaluate_clips(by, folder, data::EchoSplit::all,
                                    {.batch_size = 3, .num_workers = workers}));
  };
  for (const int workers : {0, 1}) {
    std::string frames, clips;
    EXPECT_EQ(waits_of([&] { frames = of_frames(here, workers); }),
              Names({"cpu waits", "synchronize waits"}))
        << workers;
    EXPECT_EQ(frames, of_frames(segmenter, 0));
    EXPECT_EQ(waits_of([&] { clips = of_clips(regressor_here, workers); }),
              Names({"cpu waits", "item waits", "synchronize waits"}))
        << workers;
    EXPECT_EQ(clips, of_clips(regressor, 0));
  }
}

TEST_F(EchoOnADevice, RealVideosHaveTheBeatsOfTheCpu) {
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

}  // namespace aorta::echo
