#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/run_folder.h>
#include <aorta/apps/echo/run_space.h>
#include <aorta/apps/echo/train.h>
#include <aorta/apps/echo/video/video.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/tests/apps/echo/dataset.h>
#include <aorta/tests/apps/echo/test_files.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace aorta::echo {
namespace {

namespace fs = std::filesystem;

// A file system of so many bytes: what would be more is refused, and the most is kept in mind.
// `bound` is what is there at most: what was written since it was counted, with what was removed.
std::string watched;
int64_t room = 0, bound = 0, most = 0, refusals = 0;

int64_t bytes_there() {
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(watched)) {
    std::error_code gone;  // renamed meanwhile
    const auto size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

ssize_t write_where_there_is_room(int descriptor, const void* data, size_t size) {
  bound += static_cast<int64_t>(size);
  if (bound > most) bound = bytes_there() + static_cast<int64_t>(size);
  if (bound > room) {
    ++refusals;
    errno = ENOSPC;
    return -1;
  }
  most = std::max(most, bound);
  return io::kernel_file_system().write(descriptor, data, size);
}

TrainOptions options_for(const std::string& data_dir, const std::string& output) {
  TrainOptions options;
  options.data_dir = data_dir;
  options.output = output;
  options.model_name = "unet_small";
  options.num_epochs = 2;
  options.batch_size = 2;
  options.num_workers = 0;
  options.lr = 1e-6;
  options.save_every = 1e-9;  // after each step: two checkpoints are there soon
  options.quiet = true;
  return options;
}

int run_of(const TrainOptions& options) { return train(options); }
int run_of(const VideoOptions& options) { return train_on_clips(options); }

// Trains in the room that is asked for; the most that was used.
template <class Options>
int64_t train_in(int64_t asked, const Options& options) {
  room = asked;
  watched = options.output;
  bound = most = refusals = 0;
  fs::create_directories(watched);
  io::FileSystem table = io::kernel_file_system();
  table.write = write_where_there_is_room;
  const io::ScopedFileSystem small(table);
  EXPECT_EQ(run_of(options), 0);
  EXPECT_EQ(refusals, 0);
  most = std::max(most, bytes_there());
  return most;
}

TEST(RunSpace, IsEnoughAndNotMuchMoreForEachOptimizer) {
  const TestFolder folder;
  const std::string data = tiny_echo_folder("space");
  for (const char* optimizer : {"sgd", "rmsprop", "adadelta", "adam"}) {
    SCOPED_TRACE(optimizer);
    TrainOptions options = options_for(data, folder.file(optimizer));
    options.optimizer = optimizer;
    const int64_t used = train_in(run_bytes(options, Trainer(options)), options);
    EXPECT_GT(static_cast<double>(used), 0.85 * static_cast<double>(room)) << used << " " << room;
    fs::remove_all(options.output);
  }
}

TEST(RunSpace, IsEnoughAndNotMuchMoreForARegressor) {
  const TestFolder folder;
  VideoOptions options;
  options.data_dir = tiny_echo_folder("space_of_clips", 2);
  options.output = folder.file("run");
  options.model_name = "mc3_18";
  options.pretrained = false;
  options.frames = 2;
  options.num_epochs = 1;
  options.batch_size = 1;
  options.num_workers = 0;
  options.save_every = 1e-9;  // a third checkpoint is written where two are
  options.quiet = true;
  const ClipTrainer trainer(options);
  const int64_t asked = run_bytes(options, trainer), used = train_in(asked, options);
  EXPECT_GT(static_cast<double>(used), 0.85 * static_cast<double>(asked)) << used << " " << asked;
  options.run_test = true;
  EXPECT_GT(run_bytes(options, trainer), asked);
}

TEST(RunSpace, CountsEpochsEvaluationsVideosAndProfiles) {
  const TestFolder folder;
  const std::string data = tiny_echo_folder("space_of_all", 6, 112);
  TrainOptions options = options_for(data, folder.file("run"));
  const int64_t plain = run_bytes(options, Trainer(options));
  options.num_epochs = 3;
  options.run_test = options.save_video = options.profile = true;
  EXPECT_GT(run_bytes(options, Trainer(options)), plain);
  train_in(run_bytes(options, Trainer(options)), options);
  // It goes on, and is replaced, in the room that it has.
  options.resume = true;
  EXPECT_EQ(train(options), 0);
}

// What is there already of the run counts as room, and nothing else does.
TEST(RunSpace, WhatTheRunHasIsRoom) {
  const TestFolder folder;
  folder.write("run/checkpoint.safetensors", std::string(3 << 20, 'x'));
  folder.write("run/samples/epoch_001.png", std::string(2 << 20, 'x'));
  folder.write("run/mine.txt", std::string(1 << 20, 'x'));
  const RunFolder run(folder.file("run"), false, true);
  const auto free = static_cast<int64_t>(fs::space(folder.str()).available);
  EXPECT_EQ(error_of([&] { run.check_space(free / 2); }), "no error");
  const std::string text = error_of([&] { run.check_space(int64_t{1} << 60); });
  const double asked = std::ldexp(1, 60) - 5 * std::ldexp(1, 20);
  EXPECT_TRUE(text.starts_with(folder.file("run") +
                               ": the checkpoints and the other files of a run need " +
                               std::to_string(asked / 1e6).substr(0, 15)))
      << text;
}

TEST(RunSpace, TooManyEpochsAreNotCounted) {
  TrainOptions options = options_for(tiny_echo_folder("space_epochs"), "nowhere");
  const Trainer trainer(options);
  options.num_epochs = 1000;
  const int64_t thousand = run_bytes(options, trainer);
  options.num_epochs = INT64_MAX;
  EXPECT_EQ(run_bytes(options, trainer), thousand);
  options.max_steps = 3;
  EXPECT_LT(run_bytes(options, trainer), thousand);
}

}  // namespace
}  // namespace aorta::echo
