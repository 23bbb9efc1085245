// Beats of a video that a segmenter finds and a network of clips tells the ejection fraction of.
#include <aorta/aorta.h>
#include <aorta/apps/echo/beats/beats.h>
#include <aorta/apps/echo/beats/beats_report.h>
#include <aorta/apps/echo/failure.h>

#include <cmath>

#include <aorta/tests/apps/echo/hearts.h>
#include <gtest/gtest.h>

namespace aorta::echo {
namespace {

BeatToBeat of_efs(const std::vector<double>& efs) {
  BeatToBeat video;
  for (const double ef : efs) video.beats.push_back({.clip = std::ssize(video.beats), .ef = ef});
  summarise(video);
  return video;
}

// scipy.stats: t.interval(0.95, n - 1, mean, sem).
TEST(BeatToBeat, MeanAndItsInterval) {
  const BeatToBeat four = of_efs({56, 58, 61, 65});
  EXPECT_DOUBLE_EQ(four.mean, 60);
  EXPECT_NEAR(four.deviation, 3.915780, 1e-6);
  EXPECT_NEAR(four.low, 53.7691, 2e-3);
  EXPECT_NEAR(four.high, 66.2309, 2e-3);
  const BeatToBeat one = of_efs({55});
  EXPECT_EQ(one.mean, 55);
  EXPECT_TRUE(std::isnan(one.deviation) && std::isnan(one.low));
  EXPECT_EQ(to_string(one), "1 beat, EF 55.0 %");
  EXPECT_TRUE(std::isnan(of_efs({}).mean));
  EXPECT_EQ(to_string(of_efs({})), "no heart beat found");
  // 41 beats: t of 40 degrees of freedom is 2.0211.
  std::vector<double> many(41, 50);
  for (size_t i = 0; i < many.size(); i += 2) many[i] = 52;
  const BeatToBeat long_one = of_efs(many);
  EXPECT_NEAR((long_one.high - long_one.mean) / (long_one.deviation / std::sqrt(41.)), 2.0211,
              2e-3);
}

// Beats whose clip is the same are one measurement, which says nothing of how they differ.
TEST(BeatToBeat, AClipCountsOnce) {
  BeatToBeat two;
  two.beats = {{.clip = 0, .ef = 58}, {.clip = 0, .ef = 58}};
  summarise(two);
  EXPECT_EQ(two.mean, 58);
  EXPECT_TRUE(std::isnan(two.deviation) && std::isnan(two.low) && std::isnan(two.high));
  EXPECT_EQ(to_string(two), "2 beats in one clip, EF 58.0 %");
  BeatToBeat three;
  three.beats = {{.clip = 0, .ef = 58}, {.clip = 0, .ef = 58}, {.clip = 12, .ef = 62}};
  summarise(three);
  const BeatToBeat of_two = of_efs({58, 62});
  EXPECT_EQ(three.mean, 60);
  EXPECT_EQ(three.deviation, of_two.deviation);
  EXPECT_EQ(three.low, of_two.low);
}

TEST(BeatToBeat, TheSystoleIsInTheMiddleOfItsClip) {
  const Regressor clips{.model_name = "",
                        .net = nn::Linear(1, 1),
                        .mean = {},
                        .std = {},
                        .task = "EF",
                        .frames = 32,
                        .period = 2};
  EXPECT_EQ(clip_of_beat(clips, 80, 200), 48);
  EXPECT_EQ(clip_of_beat(clips, 10, 200), 0);     // before the video
  EXPECT_EQ(clip_of_beat(clips, 195, 200), 137);  // the last place: 200 - 31 x 2 - 1
  EXPECT_EQ(clip_of_beat(clips, 20, 40), 0);      // shorter than a clip
}

// Each beat has the value that the network gives its clip.
TEST(BeatToBeat, JoinsTheTwoNetworks) {
  const TestFolder folder;
  data::write_video(folder.file("heart.avi"), Heart{.frames = 100}.video());
  manual_seed(3);
  const Regressor regressor =
      make_regressor("mc3_18", {.mean = {40, 40, 40}, .std = {60, 60, 60}}, "EF", 2, 4);
  const data::VideoReader video(folder.file("heart.avi"));
  const BeatToBeat found = measure_beats(brightness_segmenter(), regressor, video);
  ASSERT_EQ(found.beats.size(), 2u);
  const NoGradGuard no_grad;
  regressor.net->eval();
  for (size_t i = 0; i < 2; ++i) {
    const MeasuredBeat& beat = found.beats[i];
    EXPECT_NEAR(beat.systole, 28 + 40 * static_cast<int>(i), 1);
    EXPECT_EQ(beat.clip, beat.systole - 4);
    const Tensor frames = video.read(beat.clip, 2, 4).transpose(0, 1).contiguous();
    const Tensor value = regressor.values(regressor.normalised(frames.unsqueeze(0)));
    EXPECT_NEAR(beat.ef, value[0].item<double>(), 1e-4);
    EXPECT_NEAR(beat.segmented_ef, Heart{}.ef(), 4);
  }
  EXPECT_NEAR(found.mean, (found.beats[0].ef + found.beats[1].ef) / 2, 1e-9);
  const report::Page::Film film = beat_film(video, found, 0, "a beat");
  EXPECT_EQ(film.frames.size(0), 2 * (found.beats[0].systole - found.beats[0].diastole) + 1);
  EXPECT_EQ(film.fps, 50);
}

TEST(BeatToBeat, TheCommandWritesTablesPlotsAndAPage) {
  const TestFolder folder;
  const Heart heart{.frames = 60};
  write_hearts(folder, {heart});
  manual_seed(3);
  make_segmenter("unet_small", {30, 30, 30}, {50, 50, 50})
      .state()
      .save(folder.file("segmenter.safetensors"));
  make_regressor("mc3_18", {.mean = {40, 40, 40}, .std = {60, 60, 60}}, "EF", 2, 4)
      .state()
      .save(folder.file("clips.safetensors"));
  BeatsOptions options{.run_or_weights = folder.file("segmenter.safetensors"),
                       .video_weights = folder.file("clips.safetensors"),
                       .data_dir = folder.str(),
                       .output = folder.file("out"),
                       .device = "cpu",
                       .quiet = true};
  beats(options);
  const data::CsvTable videos = data::read_csv(folder.file("out/videos.csv"));
  ASSERT_EQ(videos.rows(), 1);
  EXPECT_NEAR(videos.number(0, videos.column("ToldEF")), heart.ef(), 1e-3);
  const data::CsvTable table = data::read_csv(folder.file("out/beats.csv"));
  EXPECT_EQ(table.rows(), videos.integer(0, videos.column("Beats")));
  for (const char* name : {"beats/heart0.svg", "size/heart0.svg", "report.html"})
    EXPECT_TRUE(std::filesystem::exists(folder.path / "out" / name)) << name;
  const auto code = [&](const std::string& text) {
    try {
      beats(options);
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(text), std::string::npos) << failure.what();
      return failure.code();
    }
    return ExitCode::done;
  };
  EXPECT_EQ(code("beats.csv: is there already; --overwrite replaces it"), ExitCode::storage);
  options.overwrite = true;
  options.video_weights = folder.file("segmenter.safetensors");
  EXPECT_EQ(code("must be weights that `aorta-echo video` wrote"), ExitCode::data);
  options.video_weights = folder.file("clips.safetensors");
  options.run_or_weights = folder.file("clips.safetensors");
  EXPECT_EQ(code("clips.safetensors"), ExitCode::data);
  options.videos = {folder.file("Videos/heart0.avi")};
  EXPECT_EQ(code("--data_dir: goes without videos"), ExitCode::usage);
}

}  // namespace
}  // namespace aorta::echo
