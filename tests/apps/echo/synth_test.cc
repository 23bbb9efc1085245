#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/apps/echo/synth/synth.h>
#include <aorta/core/io/file_system.h>
#include <aorta/tests/apps/echo/test_files.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <sstream>

namespace aorta::echo {
namespace {

namespace fs = std::filesystem;

// Short videos: two beats at 10 frames a second.
SynthOptions small(const std::string& output) {
  SynthOptions options;
  options.output = output;
  options.train = 2;
  options.val = options.test = 1;
  options.frames = 14;
  options.fps = 10;
  options.seed = 3;
  return options;
}

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder).string()] = read_text(entry.path().string());
  return files;
}

std::vector<std::vector<std::string>> table(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read_text(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

struct Failed {
  ExitCode code = ExitCode::done;
  std::string text = "no failure";
};
Failed failure_of(const SynthOptions& options) {
  try {
    synth(options);
  } catch (const Failure& failure) {
    return {failure.code(), failure.what()};
  }
  return {};
}

Tensor mask_of(const Tracing& tracing) {
  std::vector<data::Point> points;
  for (const auto& chord : tracing.chords)
    points.push_back({data::round_coordinate(chord[0].x), data::round_coordinate(chord[0].y)});
  for (size_t i = tracing.chords.size(); i-- > 0;)
    points.push_back({data::round_coordinate(tracing.chords[i][1].x),
                      data::round_coordinate(tracing.chords[i][1].y)});
  Tensor mask = zeros({112, 112}, {.dtype = u8});
  data::fill_polygon(mask, points);
  return mask;
}

double mean_where(const Tensor& frame, const Tensor& mask) {
  return (sum(frame.to(f64) * mask.to(f64)) / sum(mask.to(f64))).item<double>();
}

TEST(Synth, IsTheSameForAnyNumberOfThreads) {
  const TestFolder folder;
  const int before = get_num_threads();
  set_num_threads(1);
  synth(small(folder.file("one")));
  set_num_threads(3);
  synth(small(folder.file("three")));
  set_num_threads(before);
  const auto one = contents(folder.file("one"));
  EXPECT_EQ(one.size(), 6u);  // two tables, four videos
  EXPECT_EQ(one, contents(folder.file("three")));
}

TEST(Synth, AVideoIsAFunctionOfSeedAndNumber) {
  const SyntheticVideo a = synthetic_video(5, 2, 14, 10), b = synthetic_video(5, 2, 14, 10);
  EXPECT_EQ(a.name, b.name);
  EXPECT_TRUE(equal(a.frames, b.frames));
  const SyntheticVideo other = synthetic_video(6, 2, 14, 10), next = synthetic_video(5, 3, 14, 10);
  for (const SyntheticVideo* different : {&other, &next}) {
    EXPECT_NE(a.name, different->name);
    EXPECT_NE(a.ejection_fraction, different->ejection_fraction);
    EXPECT_FALSE(equal(a.frames[0], different->frames[0]));
  }
  // A set holds the videos of its splits' numbers, whatever else is in it.
  const TestFolder folder;
  SynthOptions options = small(folder.file("set"));
  options.train = 0;
  synth(options);
  const auto names = table(folder.file("set/FileList.csv"));
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[1][0], synthetic_video(3, kFirstVal, 14, 10, false).name);
  EXPECT_EQ(names[2][0], synthetic_video(3, kFirstTest, 14, 10, false).name);
}

TEST(Synth, WritesWhatEchoReads) {
  const TestFolder folder;
  const std::string output = folder.file("set");
  synth(small(output));
  const std::vector<data::EchoFault> faults =
      data::check_echo(output, data::EchoOptions::segmentation(data::EchoSplit::all));
  for (const data::EchoFault& fault : faults) ADD_FAILURE() << to_string(fault);
  const std::pair<data::EchoSplit, int64_t> sizes[] = {
      {data::EchoSplit::train, 2}, {data::EchoSplit::val, 1}, {data::EchoSplit::test, 1}};
  for (const auto& [split, size] : sizes)
    EXPECT_EQ(data::Echo(output, data::EchoOptions::segmentation(split)).size(), size);
  EXPECT_EQ(table(output + "/FileList.csv")[0],
            (std::vector<std::string>{"FileName", "EF", "ESV", "EDV", "FrameHeight", "FrameWidth",
                                      "FPS", "NumberOfFrames", "Split"}));
  EXPECT_EQ(table(output + "/VolumeTracings.csv")[0],
            (std::vector<std::string>{"FileName", "X1", "Y1", "X2", "Y2", "Frame"}));
  // Pixels survive the JPEG: what is read is what was drawn, but for its losses.
  const SyntheticVideo drawn = synthetic_video(3, 0, 14, 10);
  const data::VideoReader video(output + "/Videos/" + drawn.name + ".avi");
  ASSERT_EQ(video.frame_count(), drawn.frames.size(0));
  EXPECT_EQ(video.fps(), 10);
  const Tensor read = video.read(0).to(f32), frame = drawn.frames[0].expand({3, -1, -1}).to(f32);
  EXPECT_LT(mean(abs(read - frame)).item<double>(), 3);
}

TEST(Synth, TablesAgreeWithTheTracings) {
  const TestFolder folder;
  const std::string output = folder.file("set");
  synth(small(output));
  const auto files = table(output + "/FileList.csv"), rows = table(output + "/VolumeTracings.csv");
  ASSERT_EQ(rows.size(), 1 + 4 * 2 * 21u);
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<std::string>& file = files[i + 1];
    double volumes[2];  // at the end of systole, of diastole
    for (size_t k = 0; k < 2; ++k) {
      std::vector<Chord> chords;
      for (size_t row = 0; row < 21; ++row) {
        const std::vector<std::string>& fields = rows[1 + (2 * i + k) * 21 + row];
        EXPECT_EQ(fields[0], file[0] + ".avi");
        chords.push_back({std::stod(fields[1]), std::stod(fields[2]), std::stod(fields[3]),
                          std::stod(fields[4])});
      }
      volumes[k] = traced_volume(chords);
    }
    EXPECT_NEAR(std::stod(file[1]), ejection_fraction(volumes[1], volumes[0]), 2e-3);
    const double esv = std::stod(file[2]), edv = std::stod(file[3]);
    EXPECT_NEAR(esv / edv, volumes[0] / volumes[1], 1e-4);
    EXPECT_GT(edv, 20);  // ml
    EXPECT_LT(edv, 400);
  }
}

TEST(Synth, ChordsCrossTheAxisAtEqualDistances) {
  for (int64_t number = 0; number < 20; ++number) {
    const SyntheticVideo video = synthetic_video(1, number, 14, 10, false);
    for (const Tracing& tracing : {video.diastole_tracing, video.systole_tracing}) {
      const double x = tracing.base.x - tracing.apex.x, y = tracing.base.y - tracing.apex.y;
      EXPECT_GT(y, 20);  // the apex is above
      for (size_t i = 0; i < 20; ++i) {
        const auto& [left, right] = tracing.chords[i];
        EXPECT_LT(left.x, right.x);
        EXPECT_NEAR((right.x - left.x) * x + (right.y - left.y) * y, 0, 1e-6);
        const double along =
            ((left.x - tracing.apex.x) * x + (left.y - tracing.apex.y) * y) / (x * x + y * y);
        EXPECT_NEAR(along, (static_cast<double>(i) + 0.5) / 20, 1e-9);
      }
    }
  }
}

TEST(Synth, MasksLieInTheSectorAndShrink) {
  for (int64_t number = 0; number < 40; ++number) {
    const SyntheticVideo video = synthetic_video(2, number, 60, 50, false);
    const Tensor large = mask_of(video.diastole_tracing),
                 small_mask = mask_of(video.systole_tracing);
    EXPECT_GT(sum(large).item<int64_t>(), sum(small_mask).item<int64_t>()) << number;
    for (const Tensor& mask : {large, small_mask}) {
      EXPECT_GT(sum(mask).item<int64_t>(), 150) << number;
      EXPECT_FALSE(any((mask > 0) & (video.sector == 0)).item<bool>()) << number;
    }
    EXPECT_GE(video.ejection_fraction, 15);
    EXPECT_LE(video.ejection_fraction, 80.1);
    // Two beats, and the traced frames are the extremes of the first.
    const auto frames = static_cast<int64_t>(video.contraction.size());
    EXPECT_GE(frames, std::floor(2 * 60 / video.heart_rate * 50));
    EXPECT_LE(frames, 60);
    EXPECT_LT(video.diastole, video.systole);
    ASSERT_LT(video.systole, frames);
    const auto [least, most] =
        std::minmax_element(video.contraction.begin(), video.contraction.end());
    EXPECT_EQ(video.contraction[static_cast<size_t>(video.diastole)], *least);
    EXPECT_NEAR(video.contraction[static_cast<size_t>(video.systole)], *most, 1e-12);
  }
}

// Drawn masks reach beyond their tracings, which takes something off ejection fractions.
TEST(Synth, MasksHaveTheEjectionFractionOfTheirTracings) {
  double whole = 0, within = 0;
  constexpr int64_t kVideos = 60;
  for (int64_t number = 0; number < kVideos; ++number) {
    const SyntheticVideo video = synthetic_video(6, number, 14, 10, false);
    const auto error = [&](double border) {
      const auto volume = [&](const Tracing& tracing) {
        return measure_disks(mask_of(tracing), border).volume;
      };
      return ejection_fraction(volume(video.diastole_tracing), volume(video.systole_tracing)) -
             video.ejection_fraction;
    };
    whole += error(0) / static_cast<double>(kVideos);
    within += error(kTraceBorder) / static_cast<double>(kVideos);
  }
  RecordProperty("difference", std::to_string(whole) + " " + std::to_string(within));
  EXPECT_LT(whole, -0.5);
  EXPECT_NEAR(within, 0, 0.25);
}

// The blood is darker than what surrounds it, in both traced frames.
TEST(Synth, ShowsTheVentricle) {
  int darker = 0;
  for (int64_t number = 0; number < 10; ++number) {
    const SyntheticVideo video = synthetic_video(4, number, 14, 10);
    for (const auto& [frame, tracing] : {std::pair{video.diastole, &video.diastole_tracing},
                                         {video.systole, &video.systole_tracing}}) {
      const Tensor mask = mask_of(*tracing), picture = video.frames[frame][0];
      Tensor around = zeros({112, 112}, {.dtype = u8});
      for (int64_t y = 6; y < 106; ++y)
        for (int64_t x = 6; x < 106; ++x)
          for (const auto& [dy, dx] : {std::pair{-5, 0}, {5, 0}, {0, -5}, {0, 5}})
            if (mask.at<uint8_t>({y, x}) == 0 && mask.at<uint8_t>({y + dy, x + dx}) != 0)
              around.at<uint8_t>({y, x}) = video.sector.at<uint8_t>({y, x});
      darker += mean_where(picture, mask) < 0.8 * mean_where(picture, around);
    }
    EXPECT_FALSE(
        any((video.frames[0][0] > 0) & (video.sector == 0) & (mask_of(video.diastole_tracing) > 0))
            .item<bool>());
  }
  EXPECT_GE(darker, 18);
}

TEST(Synth, RefusesOptionsThatAreWrong) {
  const TestFolder folder;
  const auto expect_usage = [&](const std::string& text, const auto& change) {
    SynthOptions options = small(folder.file("set"));
    change(options);
    const Failed failed = failure_of(options);
    EXPECT_EQ(failed.code, ExitCode::usage);
    EXPECT_EQ(failed.text, text);
    EXPECT_TRUE(fs::is_empty(folder.path));
  };
  expect_usage("synth: output must name a folder, got nothing",
               [](SynthOptions& options) { options.output = ""; });
  expect_usage("synth: train, val and test must be 0 to 1000000, got -1",
               [](SynthOptions& options) { options.val = -1; });
  expect_usage("synth: train, val and test must give a video, got 0",
               [](SynthOptions& options) { options.train = options.val = options.test = 0; });
  expect_usage("synth: fps must be 10 to 1000, got nan",
               [](SynthOptions& options) { options.fps = std::nan(""); });
  expect_usage("synth: frames must be 12 (two beats) to 10000, got 11",
               [](SynthOptions& options) { options.frames = 11; });
  for (const int64_t size : {15, 113})
    expect_usage("synth: size must be 16 to 112, got " + std::to_string(size),
                 [&](SynthOptions& options) { options.size = size; });
}

// A pixel of a picture of half the size is the mean of about four, and a tracing's point the same
// place of the heart.
TEST(Synth, SmallerPicturesShowTheSame) {
  const TestFolder folder;
  SynthOptions options = small(folder.file("large"));
  options.train = 1;
  options.val = options.test = 0;
  synth(options);
  options.output = folder.file("small");
  options.size = 56;
  synth(options);
  const auto large = table(folder.file("large/FileList.csv")),
             small = table(folder.file("small/FileList.csv"));
  ASSERT_EQ(small.size(), 2u);
  EXPECT_EQ(small[1][4] + " " + small[1][5], "56 56");
  for (const size_t same : {0, 1, 2, 3, 6, 7, 8}) EXPECT_EQ(small[1][same], large[1][same]);
  const auto frames_of = [&](const std::string& set) {
    const data::VideoReader video(folder.file(set + "/Videos/" + small[1][0] + ".avi"));
    return video.read(0, video.frame_count()).to(f32).select(1, 0);
  };
  const Tensor drawn = frames_of("large"), smaller = frames_of("small");
  const int64_t count = drawn.size(0);
  ASSERT_EQ(smaller.shape(), (Shape{count, 56, 56}));
  const Tensor means = mean(drawn.reshape({count, 56, 2, 56, 2}), {2, 4});
  EXPECT_LT(mean(abs(means - smaller)).item<float>(), 4);

  const auto tracings = table(folder.file("large/VolumeTracings.csv")),
             smaller_tracings = table(folder.file("small/VolumeTracings.csv"));
  ASSERT_EQ(smaller_tracings.size(), tracings.size());
  for (size_t row = 1; row < tracings.size(); ++row)
    for (const size_t column : {1, 2, 3, 4})
      EXPECT_NEAR(std::stod(smaller_tracings[row][column]),
                  std::stod(tracings[row][column]) / 2 - 0.25, 1e-4);
}

TEST(Synth, ReplacesDataSetsOnly) {
  const TestFolder folder;
  SynthOptions options = small(folder.file("set"));
  options.train = 0;
  fs::create_directories(options.output);  // an empty folder will do
  synth(options);
  const auto first = contents(options.output);

  Failed failed = failure_of(options);
  EXPECT_EQ(failed.code, ExitCode::storage);
  EXPECT_NE(failed.text.find("/set: output must be new or empty (--overwrite replaces a data set), "
                             "got a folder with \""),
            std::string::npos)
      << failed.text;
  EXPECT_EQ(contents(options.output), first);

  options.overwrite = true;
  options.seed = 4;
  synth(options);
  const auto second = contents(options.output);
  EXPECT_EQ(second.size(), 4u);
  EXPECT_NE(second, first);

  folder.write("set/thesis.txt", "years of work");
  failed = failure_of(options);
  EXPECT_EQ(failed.code, ExitCode::storage);
  EXPECT_NE(failed.text.find("--overwrite replaces data sets only, got a folder with "
                             "\"thesis.txt\""),
            std::string::npos)
      << failed.text;
  EXPECT_EQ(read_text(folder.file("set/thesis.txt")), "years of work");

  folder.write("file", "x");
  options.output = folder.file("file");
  EXPECT_NE(failure_of(options).text.find("/file: output must be a folder, got a file"),
            std::string::npos);
  options.output = folder.file("file/set");
  EXPECT_EQ(failure_of(options).code, ExitCode::storage);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 2);  // nothing else is left
}

TEST(Synth, LeavesNothingWhenTheDiskIsFull) {
  const TestFolder folder;
  SynthOptions options = small(folder.file("new/set"));
  options.train = 0;
  io::FileSystem full = io::kernel_file_system();
  full.fsync = [](int) {
    errno = ENOSPC;
    return -1;
  };
  {
    const io::ScopedFileSystem scope(full);
    const Failed failed = failure_of(options);
    EXPECT_EQ(failed.code, ExitCode::storage);
    EXPECT_NE(failed.text.find("fsync, got ENOSPC"), std::string::npos) << failed.text;
  }
  EXPECT_TRUE(fs::is_empty(folder.file("new")));
  synth(options);
  EXPECT_EQ(contents(options.output).size(), 4u);
}

TEST(SynthDeathTest, ASignalLeavesNothing) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const std::string output = testing::TempDir() + "echo_synth_signal/set";
  fs::remove_all(fs::path(output).parent_path());
  SynthOptions options = small(output);
  EXPECT_EXIT(
      {
        catch_interrupts();
        raise(SIGTERM);
        const Failed failed = failure_of(options);
        std::fputs(failed.text.c_str(), stderr);
        _exit(static_cast<int>(failed.code));
      },
      testing::ExitedWithCode(128 + SIGTERM), "stopped by SIGTERM: .*/set is not written");
  EXPECT_TRUE(fs::is_empty(fs::path(output).parent_path()));
  fs::remove_all(fs::path(output).parent_path());
}

}  // namespace
}  // namespace aorta::echo
