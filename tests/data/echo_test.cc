#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/data/dataset.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/images/statistics.h>
#include <aorta/data/loader.h>
#include <aorta/data/video/video.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <aorta/tests/data/echo_folder.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

Tensor clip_of(const std::string& path, int64_t start, int64_t length, int64_t period) {
  return VideoReader(path).read(start, length, period).transpose(0, 1).contiguous();
}

TEST(Echo, ChoosesSplits) {
  const EchoFolder folder;
  const auto names = [&](EchoSplit split, bool traces = true) {
    EchoOptions options = with_targets({"EF"}, split);
    options.require_traces = traces;
    const Echo echo(folder.str(), options);
    std::string all;
    for (int64_t i = 0; i < echo.size(); ++i) all += echo.file_name(i) + " ";
    return all;
  };
  EXPECT_EQ(names(EchoSplit::train), "a.avi b.avi ");
  EXPECT_EQ(names(EchoSplit::train, false), "a.avi b.avi e.avi ");
  EXPECT_EQ(names(EchoSplit::val), "c.avi ");
  EXPECT_EQ(names(EchoSplit::test), "d.avi ");
  EXPECT_EQ(names(EchoSplit::all), "a.avi b.avi c.avi d.avi ");
  EXPECT_EQ(error_of([&] { names(EchoSplit::clinical_test); }),
            "echo: the folder of videos must be readable, got " + folder.str() +
                "/ProcessedStrainStudyA4c: ENOENT (No such file or directory)");
  const Echo echo(folder.str(), with_targets({"EF"}));
  ASSERT_EQ(echo.notes().size(), 1u);
  EXPECT_EQ(to_string(echo.notes()[0]),
            "FileList.csv:6: e.avi is left out: it must have two traced frames, got 0");
}

TEST(Echo, GivesEveryTarget) {
  const EchoFolder folder;
  EchoOptions options =
      with_targets({"Filename", "EF", "EDV", "ESV", "FPS", "LargeIndex", "SmallIndex", "LargeFrame",
                    "SmallFrame", "LargeTrace", "SmallTrace"});
  options.video = true;
  const Echo echo(folder.str(), options);
  const Sample a = echo.sample(0), b = echo.sample(1);
  EXPECT_EQ(a["Filename"].to_vector<int>(), (std::vector<int>{'a', '.', 'a', 'v', 'i'}));
  EXPECT_EQ(a["EF"].item<float>(), 60.5f);
  EXPECT_EQ(a["EDV"].item<float>(), 50.25f);
  EXPECT_EQ(a["ESV"].item<float>(), 20.f);
  EXPECT_EQ(b["FPS"].item<float>(), 50.f);
  // By area: in a the small trace comes first, as in EchoNet's files, in b the large one.
  EXPECT_EQ(a["SmallIndex"].item<int>(), 33);
  EXPECT_EQ(a["LargeIndex"].item<int>(), 3);
  EXPECT_EQ(b["SmallIndex"].item<int>(), 11);
  EXPECT_EQ(b["LargeIndex"].item<int>(), 2);
  const VideoReader video(folder.video("b"));
  EXPECT_EQ(b["SmallFrame"].to_vector<int>(), video.read(11).to_vector<int>());
  EXPECT_EQ(b["LargeFrame"].to_vector<int>(), video.read(2).to_vector<int>());
  // The long axis isn't part of the outline; 10.6 and 19.4 are rounded.
  EXPECT_EQ(echo.small_trace(0).frame, 33);
  EXPECT_EQ(echo.small_trace(0).outline,
            (std::vector<Point>{{11, 11}, {11, 15}, {11, 19}, {19, 19}, {19, 15}, {19, 11}}));
  for (int64_t y = 0; y < kSide; ++y)
    for (int64_t x = 0; x < kSide; ++x)
      EXPECT_EQ(int{a["SmallTrace"].at<uint8_t>({y, x})},
                x >= 11 && x <= 19 && y >= 11 && y <= 19 ? 1 : 0);
  int64_t inside = 0;
  for (const int value : b["LargeTrace"].to_vector<int>()) inside += value;
  EXPECT_EQ(inside, 17 * 17);
  EXPECT_EQ(a["video"].shape(), (Shape{3, 16, kSide, kSide}));
}

// A trace that reaches a pixel over the frame's edge, as rounding puts it, is cut off there.
TEST(Echo, CutsTracesAtTheEdge) {
  EchoFolder folder;
  const auto inside = [&] {
    const Echo echo(folder.str(), EchoOptions::segmentation(EchoSplit::test));
    int64_t count = 0;
    for (const int value : echo.sample(0)["LargeTrace"].to_vector<int>()) count += value;
    return count;
  };
  EXPECT_EQ(inside(), 18 * 18);
  const std::string others = folder.tracings.substr(0, folder.tracings.find("d.avi"));
  folder.tracings = others + trace("d.avi", 1, 15, 15, 16) + trace("d.avi", 30, 8, 8, 4);
  folder.save();
  EXPECT_EQ(inside(), 32 * 32);
}

TEST(Echo, CutsClips) {
  const EchoFolder folder;
  EchoOptions options;
  options.targets = {};
  options.length = 4;
  options.period = 3;
  const Echo echo(folder.str(), options);
  EXPECT_EQ(echo.specs()[0].shape, (Shape{3, 4, kSide, kSide}));
  Generator random(7);
  std::set<int64_t> starts;
  for (int repeat = 0; repeat < 60; ++repeat) {
    Generator before = random;
    const int64_t start = before.next_below(20 - 9);
    starts.insert(start);
    EXPECT_EQ(echo.sample(1, random)["video"].to_vector<int>(),
              clip_of(folder.video("b"), start, 4, 3).to_vector<int>());
  }
  EXPECT_EQ(starts.size(), 11u);  // every place, and no other
}

// In a the traced frames are 3 and 33 of 40, in b 2 and 11 of 20.
TEST(Echo, CutsClipsAroundTracedFrames) {
  const EchoFolder folder;
  EchoOptions options = with_targets({"LargeFrame", "SmallFrame"});
  options.around_traces = true;
  for (const auto& [length, period] : {std::pair<int64_t, int64_t>{1, 5}, {3, 4}, {4, 1}, {9, 3}}) {
    options.length = length;
    options.period = period;
    const Echo echo(folder.str(), options);
    for (const int64_t video : {0, 1}) {
      const Sample sample = echo.sample(video);
      const VideoReader reader(folder.video(video == 0 ? "a" : "b"));
      const auto check_clip = [&](const char* name, int64_t traced) {
        ASSERT_EQ(sample[name].shape(), Shape({3, length, reader.height(), reader.width()}));
        for (int64_t k = 0; k < length; ++k) {
          const int64_t frame =
              std::clamp<int64_t>(traced + (k - length / 2) * period, 0, reader.frame_count() - 1);
          EXPECT_TRUE(equal(sample[name].select(1, k), reader.read(frame)));
        }
      };
      check_clip("LargeFrame", echo.large_trace(video).frame);
      check_clip("SmallFrame", echo.small_trace(video).frame);
    }
  }
  options.length = 0;
  EXPECT_EQ(error_of([&] { Echo(folder.str(), options); }),
            "echo: around_traces is of clips of a given length, got 0");
}

TEST(Echo, FillsShortVideosUp) {
  const EchoFolder folder;
  EchoOptions options;
  options.split = EchoSplit::val;
  options.mean = {30.4f, 40, 50};
  options.std = {2, 4, 5};
  const Echo bytes(folder.str(), options);
  options.dtype = f32;
  const Echo floats(folder.str(), options);
  const Tensor whole = clip_of(folder.video("c"), 0, 9, 1);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Generator random(seed), same(seed), before(seed);
    const int64_t start = before.next_below(32 - 30);
    const Tensor u = bytes.sample(0, random)["video"], f = floats.sample(0, same)["video"];
    for (int64_t k = 0; k < 16; ++k) {
      const int64_t t = start + 2 * k;
      for (int64_t c = 0; c < 3; ++c) {
        const float mean[] = {30.4f, 40, 50}, std[] = {2, 4, 5};
        const int byte = int{u.at<uint8_t>({c, k, 5, 6})};
        if (t < 9) {
          EXPECT_EQ(byte, int{whole.at<uint8_t>({c, t, 5, 6})});
          EXPECT_EQ(f.at<float>({c, k, 5, 6}), (static_cast<float>(byte) - mean[c]) / std[c]);
        } else {
          EXPECT_EQ(byte, std::nearbyint(mean[c]));
          EXPECT_EQ(f.at<float>({c, k, 5, 6}), 0);
        }
      }
    }
  }
}

TEST(Echo, CutsClipsOfWholeVideos) {
  const EchoFolder folder;
  EchoOptions options;
  options.length = 0;
  options.max_length = 15;
  const Echo echo(folder.str(), options);
  EXPECT_EQ(echo.specs()[0].shape, (Shape{3, 15, kSide, kSide}));
  EXPECT_EQ(echo.sample(0)["video"].shape(), (Shape{3, 15, kSide, kSide}));  // of 40 / 2
  const Tensor clip = echo.sample(1)["video"];                               // 20 / 2
  EXPECT_EQ(clip.shape(), (Shape{3, 10, kSide, kSide}));
  options.max_length = 0;
  EXPECT_EQ(Echo(folder.str(), options).specs()[0].shape, (Shape{3, 20, kSide, kSide}));
}

TEST(Echo, TakesSeveralClipsAndAllOfThem) {
  const EchoFolder folder;
  EchoOptions options;
  options.length = 3;
  options.period = 4;
  options.clips = 5;
  options.targets = {};
  const Echo some(folder.str(), options);
  Generator random(3), before(3);
  const Tensor five = some.sample(1, random)["video"];
  ASSERT_EQ(five.shape(), (Shape{5, 3, 3, kSide, kSide}));
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(five[i].to_vector<int>(),
              clip_of(folder.video("b"), before.next_below(20 - 8), 3, 4).to_vector<int>());
  options.clips = 0;
  const Echo all(folder.str(), options);
  EXPECT_EQ(all.specs()[0].shape, (Shape{40 - 8, 3, 3, kSide, kSide}));
  const Tensor every = all.sample(1)["video"];
  ASSERT_EQ(every.shape(), (Shape{20 - 8, 3, 3, kSide, kSide}));
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(every[i].to_vector<int>(), clip_of(folder.video("b"), i, 3, 4).to_vector<int>()) << i;
}

TEST(Echo, PadsAndCutsBack) {
  const EchoFolder folder;
  EchoOptions options;
  options.pad = 5;
  options.mean = {77};
  options.length = 2;
  options.targets = {"LargeFrame"};
  const Echo echo(folder.str(), options);
  std::set<std::pair<int64_t, int64_t>> places;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Generator random(seed), before(seed);
    const int64_t start = before.next_below(40 - 2);
    const int64_t i = before.next_below(10), j = before.next_below(10);
    places.insert({i, j});
    const Sample sample = echo.sample(0, random);
    const Tensor clip = clip_of(folder.video("a"), start, 2, 2);
    // EchoNet's: zeros (here 77) around, and a window of the old size at (i, j).
    const Tensor padded = full({3, 2, kSide + 10, kSide + 10}, 77, {.dtype = u8});
    padded.narrow(2, 5, kSide).narrow(3, 5, kSide).copy_(clip);
    EXPECT_EQ(sample["video"].to_vector<int>(),
              padded.narrow(2, i, kSide).narrow(3, j, kSide).to_vector<int>());
    EXPECT_EQ(sample["LargeFrame"].to_vector<int>(),
              VideoReader(folder.video("a")).read(3).to_vector<int>());
  }
  EXPECT_GT(places.size(), 20u);
}

TEST(Echo, BlackensPixels) {
  const EchoFolder folder;
  EchoOptions options;
  options.noise = 0.25;
  options.length = 20;
  options.period = 1;
  options.targets = {"LargeFrame"};
  const Echo echo(folder.str(), options);
  Generator random(1), same(1), other(2);
  const Sample first = echo.sample(1, random);
  EXPECT_EQ(first["video"].to_vector<int>(), echo.sample(1, same)["video"].to_vector<int>());
  EXPECT_NE(first["video"].to_vector<int>(), echo.sample(1, other)["video"].to_vector<int>());
  const Tensor clean = clip_of(folder.video("b"), 0, 20, 1);
  for (int64_t t = 0; t < 20; ++t) {
    int64_t black = 0;
    for (int64_t y = 0; y < kSide; ++y)
      for (int64_t x = 0; x < kSide; ++x) {
        int zeros = 0;
        for (int64_t c = 0; c < 3; ++c) {
          const int value = first["video"].at<uint8_t>({c, t, y, x});
          const int was = clean.at<uint8_t>({c, t, y, x});
          zeros += value == 0;
          EXPECT_TRUE(value == was || value == 0);
        }
        black += zeros == 3;
      }
    EXPECT_EQ(black, 256) << t;  // a quarter of 1,024; the pictures have no black pixels
  }
  // A frame has the same noise wherever it stands in a sample.
  EXPECT_EQ(first["LargeFrame"].to_vector<int>(), first["video"].select(1, 2).to_vector<int>());
}

TEST(Echo, ReadsVideosWithoutTables) {
  const EchoFolder folder;
  EchoOptions options;
  options.split = EchoSplit::external_test;
  options.external_test_location = folder.file("Videos");
  options.targets = {"Filename", "EF"};
  options.clips = 0;
  const Echo echo("", options);
  EXPECT_EQ(echo.size(), 5);
  EXPECT_EQ(echo.file_name(4), "e.avi");
  EXPECT_EQ(echo.sample(1)["EF"].item<float>(), 0);
  EXPECT_EQ(echo.specs()[0].shape, (Shape{10, 3, 16, kSide, kSide}));
  options.targets = {"LargeFrame"};
  EXPECT_EQ(error_of([&] { Echo("", options); }),
            "echo: videos of external_test have no traces, got \"LargeFrame\"");
  options.external_test_location = "";
  options.targets = {};
  EXPECT_EQ(
      error_of([&] { Echo("", options); }),
      "echo: external_test_location must name the folder of the external videos, got nothing");
}

TEST(Echo, GivesGrayFrames) {
  const EchoFolder folder;
  EchoOptions options = EchoOptions::segmentation();
  options.mode = ImageMode::gray;
  const Echo echo(folder.str(), options);
  EXPECT_EQ(echo.sample(0)["LargeFrame"].to_vector<int>(),
            VideoReader(folder.video("a"), ImageMode::gray).read(3).to_vector<int>());
  options.dtype = f32;
  options.mean = {10};
  options.std = {4};
  const Sample sample = Echo(folder.str(), options).sample(0);
  EXPECT_EQ(sample["LargeFrame"].at<float>({0, 9, 9}),
            (static_cast<float>(echo.sample(0)["LargeFrame"].at<uint8_t>({0, 9, 9})) - 10.f) / 4.f);
  EXPECT_EQ(sample["LargeTrace"].to_vector<int>(), echo.sample(0)["LargeTrace"].to_vector<int>());
  EXPECT_EQ(sample["LargeTrace"].dtype(), f32);
}

TEST(Echo, IsALoadersDataset) {
  const EchoFolder folder;
  DataLoader loader(make_dataset<Echo>(folder.str(), EchoOptions::segmentation(EchoSplit::all)),
                    {.batch_size = 3, .seed = 0});
  const Batch batch = *loader.begin();
  EXPECT_EQ(batch["LargeFrame"].shape(), (Shape{3, 3, kSide, kSide}));
  EXPECT_EQ(batch["LargeTrace"].shape(), (Shape{3, kSide, kSide}));
  EXPECT_EQ(batch["SmallFrame"][1].to_vector<int>(),
            VideoReader(folder.video("b")).read(11).to_vector<int>());
}

// Rows of one trace that stand apart, which EchoNet takes together too.
TEST(Echo, BringsScatteredRowsTogether) {
  EchoFolder folder;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < folder.tracings.size();) {
    const size_t end = folder.tracings.find('\n', begin) + 1;
    lines.push_back(folder.tracings.substr(begin, end - begin));
    begin = end;
  }
  const Echo whole(folder.str(), EchoOptions::segmentation(EchoSplit::all));
  std::string mixed = lines[0];
  for (size_t k = 0; k < 4; ++k)
    for (size_t i = 1 + k; i < lines.size(); i += 4) mixed += lines[i];
  folder.tracings = mixed;
  folder.save();
  const Echo scattered(folder.str(), EchoOptions::segmentation(EchoSplit::all));
  for (int64_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(scattered.large_trace(i).outline, whole.large_trace(i).outline);
    EXPECT_EQ(scattered.small_trace(i).frame, whole.small_trace(i).frame);
    EXPECT_EQ(scattered.small_trace(i).outline, whole.small_trace(i).outline);
  }
}

// A count of frames that is far from the file's is no reason for memory that isn't there.
TEST(Echo, TakesTheLengthOfClipsFromTheFiles) {
  EchoFolder folder;
  EchoOptions options;
  options.length = options.max_length = 0;
  EXPECT_EQ(Echo(folder.str(), options).specs()[0].shape, (Shape{3, 20, kSide, kSide}));
  folder.list.replace(folder.list.find("50,20,train"), 11, "50,2000000000,train");  // b
  folder.save();
  EXPECT_EQ(Echo(folder.str(), options).specs()[0].shape, (Shape{3, 20, kSide, kSide}));
  options.clips = 0;
  options.length = 3;
  options.period = 4;
  EXPECT_EQ(Echo(folder.str(), options).specs()[0].shape, (Shape{40 - 8, 3, 3, kSide, kSide}));
}

TEST(Echo, MeasuresMeanAndDeviation) {
  const EchoFolder folder;
  EchoOptions options;
  options.length = 1;
  options.period = 1;
  options.clips = 0;  // every frame once
  options.targets = {};
  const Echo echo(folder.str(), options);
  const auto [mean, std] = mean_and_std(echo, "video", {.channel_dim = 1});
  double sum[3] = {}, squares[3] = {}, count = 0;
  for (const char* name : {"a", "b"}) {
    const VideoReader video(folder.video(name));
    for (int64_t t = 0; t < video.frame_count(); ++t) {
      const Tensor frame = video.read(t);
      for (int64_t c = 0; c < 3; ++c)
        for (const double value : frame[c].to_vector<double>()) {
          sum[c] += value;
          squares[c] += value * value;
        }
      count += kSide * kSide;
    }
  }
  ASSERT_EQ(mean.size(), 3u);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(mean[c], sum[c] / count, 1e-4);
    EXPECT_NEAR(std[c], std::sqrt(squares[c] / count - sum[c] / count * (sum[c] / count)), 1e-4);
  }
  options.dtype = f32;
  options.mean = mean;
  options.std = std;
  const auto normal = mean_and_std(Echo(folder.str(), options), "video", {.channel_dim = 1});
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(normal.mean[c], 0, 1e-5);
    EXPECT_NEAR(normal.std[c], 1, 1e-5);
  }
  EXPECT_EQ(mean_and_std(echo, "video", {.samples = 1, .channel_dim = 1}).mean,
            mean_and_std(echo, "video", {.samples = 1, .channel_dim = 1}).mean);
  const auto parallel = mean_and_std(echo, "video", {.channel_dim = 1, .parallel = true});
  EXPECT_EQ(parallel.mean, mean);
  EXPECT_EQ(parallel.std, std);
}

// Samples of any strides, by arithmetic.
TEST(MeanAndStd, OfTransposedSamples) {
  const Tensor rows = arange(1, 7).to(f32).view({1, 2, 3});
  const NamedTensors samples = {{"x", rows.transpose(1, 2)}};  // a sample: 3 lines of 2 channels
  const auto [mean, std] = mean_and_std(TensorDataset(samples), "x", {.channel_dim = 1});
  EXPECT_EQ(mean, (std::vector<float>{2, 5}));
  EXPECT_FLOAT_EQ(std[0], std::sqrt(2.0f / 3));
}

// Whose squares an f64 doesn't tell apart; and what isn't a number spoils.
TEST(MeanAndStd, OfLargeMeans) {
  const auto of = [](const Tensor& values) {
    const NamedTensors samples = {{"x", values.view({4, 1, 1000})}};
    return mean_and_std(TensorDataset(samples), "x", {.channel_dim = 0});
  };
  const Tensor values = remainder(arange(4000), 2).to(f32) + 1e7;
  EXPECT_NEAR(of(values).std[0], 0.5, 1e-6);
  values[7].fill_(std::nan(""));
  EXPECT_TRUE(std::isnan(of(values).std[0]));
}

// There may be more channels without elements than memory has room for.
TEST(MeanAndStd, OfEmptySamples) {
  const NamedTensors samples = {{"x", empty({1, int64_t{1} << 41, 0}, {.dtype = f32})}};
  EXPECT_EQ(error_of([&] { mean_and_std(TensorDataset(samples), "x", {.channel_dim = 0}); }),
            "mean_and_std: samples must have elements, got [2199023255552,0]");
}

// Kilobytes of this process's own memory.
int64_t private_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (word == "Private_Dirty:") {
      int64_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes;
    }
  return -1;
}

// The whole of EchoNet-Dynamic: 10,030 videos, two traces of 21 rows each.
TEST(Echo, ListsTenThousandVideosInLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's memory is not the program's";
#endif
  const EchoFolder small;
  const TestFolder large;
  std::filesystem::create_directories(large.path / "Videos");
  std::ofstream list(large.file("FileList.csv")), tracings(large.file("VolumeTracings.csv"));
  list << "FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split\n";
  tracings << "FileName,X1,Y1,X2,Y2,Frame\n";
  for (int i = 0; i < 10030; ++i) {
    const std::string name = "0X" + std::to_string(100000000000000 + i);
    std::filesystem::create_hard_link(small.video("a"), large.file("Videos/" + name + ".avi"));
    list << name << ",55.1234,30.5,66.25,32,32,50,40,TRAIN\n";
    for (const int frame : {7, 31})
      for (int row = 0; row < 21; ++row)
        tracings << name << ".avi," << 5.1234 + frame * 0.1 << ',' << row << ','
                 << 20.4321 + frame * 0.2 << ',' << row + 0.5 << ',' << frame << '\n';
  }
  list.close();
  tracings.close();
  const Echo few(small.str(), EchoOptions::segmentation());
  few.sample(0);
  const int64_t before = private_memory();
  ASSERT_GT(before, 0);
  const Echo many(large.path.string(), EchoOptions::segmentation());
  for (int64_t i = 0; i < many.size(); i += 100) many.sample(i);
  EXPECT_EQ(many.size(), 10030);
  // The traces' corners are 3.4 MB, names and the rest 1 MB.
  EXPECT_LT(private_memory() - before, 8000);
}

// Against the steps of EchoNet's own code with OpenCV and scikit-image, on the folder in
// AORTA_ECHO.
TEST(Echo, IsEchoNetsOnRealVideos) {
  const char* data = std::getenv("AORTA_ECHO");
  if (data == nullptr) GTEST_SKIP() << "AORTA_ECHO must name a folder of EchoNet-Dynamic's layout";
  const char* python = std::getenv("AORTA_PEER_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "AORTA_PEER_PYTHON names no interpreter";
  const TestFolder folder;
  const int status =
      std::system(("'" + std::string(python) + "' tests/data/echo_peer.py '" + data + "' '" +
                   folder.file("peer.npz") + "' >'" + folder.file("log") + "' 2>&1")
                      .c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 77 || code == 127) GTEST_SKIP() << python << ": " << read_text(folder.file("log"));
  ASSERT_EQ(code, 0) << read_text(folder.file("log"));
  std::map<std::string, Tensor> peer;
  for (const auto& [name, tensor] : load(folder.file("peer.npz"))) peer[name] = tensor;

  EchoOptions options = EchoOptions::segmentation(EchoSplit::all);
  for (const char* more : {"SmallIndex", "LargeIndex", "EF", "EDV", "ESV"})
    options.targets.push_back(more);
  const Echo frames(data, options);
  ASSERT_GT(frames.size(), 0);
  EchoOptions clips;
  clips.split = EchoSplit::all;
  clips.dtype = f32;
  clips.mean = {32.5f};
  clips.std = {49.25f};
  clips.clips = 0;
  const Echo all(data, clips);
  for (int64_t i = 0; i < frames.size(); ++i) {
    const std::string name = frames.file_name(i);
    SCOPED_TRACE(name);
    const Sample sample = frames.sample(i);
    const Tensor &pixels = peer.at(name + "/frames"), &masks = peer.at(name + "/masks");
    ASSERT_EQ(sample["SmallFrame"].to_vector<int>(), pixels[0].to_vector<int>());
    ASSERT_EQ(sample["LargeFrame"].to_vector<int>(), pixels[1].to_vector<int>());
    ASSERT_EQ(sample["SmallTrace"].to_vector<int>(), masks[0].to_vector<int>());
    ASSERT_EQ(sample["LargeTrace"].to_vector<int>(), masks[1].to_vector<int>());
    const Tensor& index = peer.at(name + "/index");
    EXPECT_EQ(sample["SmallIndex"].item<int64_t>(), index.at<int64_t>({0}));
    EXPECT_EQ(sample["LargeIndex"].item<int64_t>(), index.at<int64_t>({1}));
    int64_t k = 0;
    for (const char* value : {"EF", "EDV", "ESV"})
      EXPECT_EQ(sample[value].item<float>(),
                static_cast<float>(peer.at(name + "/values").at<double>({k++})));
    const Tensor every = all.sample(i)["video"];
    ASSERT_EQ(every[13 % every.size(0)].to_vector<float>(),
              peer.at(name + "/clip").to_vector<float>());
  }
}

}  // namespace
}  // namespace aorta::data
