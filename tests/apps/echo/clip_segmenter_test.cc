// The segmenter that sees clips: its windows over videos, and what it learns from two frames of
// one.
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/apps/echo/video_masks.h>
#include <aorta/tests/apps/echo/dataset.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

/// Mean of the channels less `level`: a pixel's logit, whatever is around it.
Segmenter pixel_segmenter(int64_t frames, int64_t period, double level = 100) {
  nn::Conv3d convolution(3, 1, 1);
  const NoGradGuard no_grad;
  convolution.weight.fill_(1. / 3);
  convolution.bias.fill_(-level);
  return {.model_name = "unet_3d",
          .net = convolution,
          .mean = {0, 0, 0},
          .std = {1, 1, 1},
          .frames = frames,
          .period = period};
}

/// A logit is the place in its clip.
struct Places : nn::Module {
  Tensor forward(const Tensor& clips) const override {
    return (zeros_like(clips) + arange(clips.size(2)).view({-1, 1, 1})).narrow(1, 0, 1);
  }
};

struct RandomVideo {
  Tensor pixels;
  std::vector<int64_t> read = {};

  explicit RandomVideo(int64_t count) {
    Generator random(4);
    pixels = randint(0, 256, {count, 3, 5, 6}, {}, &random).to(u8);
  }
  VideoFrames frames() {
    return {.count = pixels.size(0), .read = [this](int64_t frame) {
              read.push_back(frame);
              return pixels[frame];
            }};
  }
};

TEST(VideoMasks, WindowsCoverEveryFrame) {
  using Starts = std::vector<int64_t>;
  EXPECT_EQ(window_starts(10, 4), (Starts{0, 2, 4, 6}));
  EXPECT_EQ(window_starts(9, 4), (Starts{0, 2, 4, 5}));
  EXPECT_EQ(window_starts(4, 4), Starts{0});
  EXPECT_EQ(window_starts(3, 4), Starts{0});
  EXPECT_EQ(window_starts(3, 1), (Starts{0, 1, 2}));
  EXPECT_EQ(error_of([] { window_starts(0, 4); }),
            "window_starts: there must be frames in video and window, got 0 and 4");
}

// Where what is around a frame doesn't matter, its logits are those of itself, for any window.
TEST(VideoMasks, AreThoseOfTheFramesThemselves) {
  for (const int64_t count : {1, 3, 11})
    for (const int64_t frames : {1, 4})
      for (const int64_t period : {1, 3, 5}) {
        RandomVideo video(count);
        const Segmenter segmenter = pixel_segmenter(frames, period);
        const Tensor wanted = mean(video.pixels.to(f32), 1) - 100;
        for (const int64_t chunk : {int64_t{1}, int64_t{4}, count}) {
          VideoMasks found(segmenter, video.frames());
          for (int64_t first = 0; first < count; first += chunk) {
            const int64_t size = std::min(chunk, count - first);
            const Tensor logits = found.logits(first, size);
            ASSERT_EQ(logits.shape(), Shape({size, 5, 6}));
            EXPECT_LT(amax(abs(logits - wanted.narrow(0, first, size))).item<double>(), 1e-3)
                << count << " " << frames << " " << period << " " << chunk;
          }
        }
      }
}

// By hand: windows of 4 frames begin at 0, 2 and 3 of 7.
TEST(VideoMasks, MeanOfTheWindowsThatCoverAFrame) {
  RandomVideo video(7);
  Segmenter segmenter = pixel_segmenter(4, 1);
  segmenter.net = Places();
  VideoMasks found(segmenter, video.frames());
  const double wanted[] = {0, 1, (2 + 0) / 2., (3 + 1 + 0) / 3., (2 + 1) / 2., (3 + 2) / 2., 3};
  for (int64_t frame = 0; frame < 7; ++frame)
    EXPECT_FLOAT_EQ(found.logits(frame, 1).at<float>({0, 2, 3}), static_cast<float>(wanted[frame]));
  EXPECT_EQ(video.read.size(), 12u) << "each window is read once";
  // Every other frame is one clip's: 0, 2, 4 (, 6) and 1, 3, 5.
  segmenter.period = 2;
  VideoMasks far(segmenter, video.frames());
  for (int64_t frame = 0; frame < 7; ++frame)
    EXPECT_EQ(far.logits(frame, 1).at<float>({0, 0, 0}), static_cast<float>(frame / 2));
  EXPECT_EQ(error_of([&] { far.logits(5, 3); }),
            "VideoMasks: frames must be the video's, got 3 from 5 of 7");
}

TrainOptions clip_options_for(const std::string& folder, int64_t frames) {
  TrainOptions options;
  options.data_dir = folder;
  options.model_name = "unet_3d";
  options.frames = frames;
  options.batch_size = 2;
  options.num_workers = 0;
  options.lr = 1e-4;
  return options;
}

/// A batch of clips around the traced frames, 0 and 3 of six.
data::Batch batch_of(const std::string& folder, const Segmenter& segmenter) {
  data::DataLoader loader(traced_clips(folder, data::EchoSplit::train, segmenter),
                          {.batch_size = 2});
  for (const data::Batch& batch : loader) return with_inputs(batch, segmenter);
  fail("batch_of", "there must be a batch", "none");
}

TEST(TracedClips, HaveTheTracedFrames) {
  const std::string folder = testing::tiny_echo_folder("traced_clips", 4);
  const auto frames = echo_frames(folder, data::EchoSplit::train);
  for (const auto& [length, period] : {std::pair<int64_t, int64_t>{4, 1}, {2, 3}, {2, 1}, {9, 1}}) {
    const Segmenter segmenter = make_segmenter("unet_3d", {1, 2, 3}, {4, 5, 6}, length, period);
    const data::Batch batch = batch_of(folder, segmenter);
    EXPECT_EQ(batch["video"].shape(), Shape({2, 3, length, 32, 32}));
    const std::vector<int64_t> places = batch["places"].to_vector<int64_t>();
    const std::vector<float> traced = batch["traced"].flatten().to_vector<float>();
    for (size_t video = 0; video < 2; ++video) {
      EXPECT_GE(traced[video] + traced[2 + video], length == 9 ? 2 : 1);
      const data::Sample one = frames->sample(static_cast<int64_t>(video));
      const auto check_frame = [&](size_t row, const char* name) {
        if (traced[row] == 0) {
          EXPECT_EQ(places[row], 0);
          return;
        }
        const int64_t place = places[row] - static_cast<int64_t>(video) * length;
        ASSERT_GE(place, 0);
        ASSERT_LT(place, length);
        EXPECT_TRUE(equal(batch["video"][static_cast<int64_t>(video)].select(1, place), one[name]));
      };
      check_frame(video, "LargeFrame");
      check_frame(2 + video, "SmallFrame");
    }
  }
}

/// What a Trainer keeps to itself.
struct OpenTrainer : Trainer {
  using Trainer::loss;
  using Trainer::output;
  using Trainer::Trainer;
};

// Of a network that gives each pixel a logit by its parity alone, both by hand: the loss is that of
// the traced frames' pixels, and only they move the eight logits.
TEST(ClipTrainer3d, LearnsFromTracedFramesAlone) {
  const std::string folder = testing::tiny_echo_folder("weak_labels", 4);
  for (const int64_t length : {4, 2}) {
    OpenTrainer trainer(clip_options_for(folder, length));
    const Segmenter& segmenter = trainer.segmenter();
    {
      const NoGradGuard no_grad;
      for (const Tensor& parameter : segmenter.net->parameters()) Tensor(parameter).zero_();
    }
    const Tensor bias = segmenter.net.as<models::UNet3d>().head.bias;
    const auto logit = [](int64_t t, int64_t y, int64_t x) {
      return 0.2 * static_cast<double>(4 * (t % 2) + 2 * (y % 2) + x % 2) - 0.7;
    };
    for (int64_t k = 0; k < 8; ++k)
      bias.data<float>()[k] = static_cast<float>(logit(k / 4, k / 2, k));
    const data::Batch batch = batch_of(folder, segmenter);
    const Tensor loss = trainer.loss(trainer.output(batch), batch);
    loss.backward();

    const Tensor places = batch["places"], traced = batch["traced"], truth = batch["truth"];
    double wanted = 0, gradients[8] = {};
    for (int64_t row = 0; row < 4; ++row) {
      if (traced.at<float>({row, 0, 0}) == 0) continue;
      const int64_t t = places.at<int64_t>({row}) % length;
      for (int64_t y = 0; y < 32; ++y)
        for (int64_t x = 0; x < 32; ++x) {
          const double z = logit(t, y, x), label = truth.at<float>({row, y, x});
          wanted += (std::log1p(std::exp(z)) - label * z) / 2;
          gradients[4 * (t % 2) + 2 * (y % 2) + x % 2] += (1 / (1 + std::exp(-z)) - label) / 2;
        }
    }
    EXPECT_NEAR(loss.item<double>(), wanted, 1e-4 * wanted);
    for (int64_t k = 0; k < 8; ++k)
      EXPECT_NEAR(bias.grad().data<float>()[k], gradients[k], 1e-2) << length << " " << k;
  }
}

// Pre-training, the epoch after it, and what lies between.
TEST(ClipTrainer3d, GoesOnBitForBitFromAnyStep) {
  TrainOptions options = clip_options_for(testing::tiny_echo_folder("clips_resume", 4), 4);
  options.pretrain_epochs = 1;
  options.optimizer = "adam";
  options.schedule = "onecycle";
  options.augment = true;
  Trainer whole(options);
  std::vector<std::string> files;
  const auto advance = [](Trainer& trainer) {
    if (trainer.step()) return;
    if (!trainer.pretraining()) trainer.validate();
    trainer.end_epoch();
  };
  constexpr int kSteps = 5;  // two, an end, two
  for (int i = 0; i < kSteps; ++i) {
    if (i == 1 || i == 3 || i == 4) {  // in pre-training, behind it, in the epoch
      files.push_back(::testing::TempDir() + "clips_" + std::to_string(i) + ".safetensors");
      whole.state().save(files.back());
    }
    EXPECT_EQ(whole.pretraining(), i < 3);
    advance(whole);
  }
  EXPECT_EQ(whole.epoch(), 0);
  EXPECT_EQ(whole.epoch_steps(), 2);
  EXPECT_EQ(whole.scores()[0].value(whole.totals()) > 0, true);
  const State end = whole.state();
  for (size_t from = 0; from < files.size(); ++from) {
    const State checkpoint = State::load(files[from]);
    manual_seed(99);  // the state must bring its own
    Trainer resumed(options, &checkpoint);
    for (int i = from == 0 ? 1 : static_cast<int>(from) + 2; i < kSteps; ++i) advance(resumed);
    const State state = resumed.state();
    ASSERT_EQ(state.names(), end.names());
    for (const auto& [name, tensor] : end.tensors())
      EXPECT_TRUE(equal(state.tensor(name), tensor)) << name << " from " << from;
  }
}

// The squared error of a network whose logits are 0 is the mean square of the grey pixels.
TEST(ClipTrainer3d, PreTrainingFillsInPixels) {
  TrainOptions options = clip_options_for(testing::tiny_echo_folder("filled_in", 4), 4);
  options.pretrain_epochs = 1;
  OpenTrainer trainer(options);
  {
    const NoGradGuard no_grad;
    for (const Tensor& parameter : trainer.segmenter().net->parameters()) Tensor(parameter).zero_();
  }
  const data::Batch batch = batch_of(options.data_dir, trainer.segmenter());
  const Tensor output = trainer.output(batch), grey = mean(batch["input"], 1);
  EXPECT_EQ(output.shape(), Shape({2, 4, 32, 32}));
  const double wanted = mean(grey * grey).item<double>() * 2 * 32 * 32;
  EXPECT_NEAR(trainer.loss(output, batch).item<double>(), wanted, 1e-4 * wanted);
}

TEST(ClipSegmenter, ComesBackFromItsState) {
  const Segmenter segmenter = make_segmenter("unet_3d", {1, 2, 3}, {4, 5, 6}, 6, 2);
  const Segmenter again = segmenter_of(segmenter.state(), "state");
  EXPECT_EQ(again.frames, 6);
  EXPECT_EQ(again.period, 2);
  EXPECT_TRUE(again.takes_clips());
  EXPECT_FALSE(make_segmenter("unet_small", {1, 2, 3}, {4, 5, 6}).takes_clips());
  EXPECT_EQ(error_of([] { make_segmenter("unet_3d", {1}, {1}, 0); }),
            "--frames: must be 1 to 250, got 0");
  EXPECT_EQ(error_of([] { make_segmenter("unet_3d", {1}, {1}, 4, 0); }),
            "--period: must be positive, got 0");
  EXPECT_EQ(error_of([&] {
              segmenter.normalised({zeros({1, 3, 4, 4}, {.dtype = u8})});
            }),
            "segmenter: clips must be u8 (N, 3, T, H, W), got u8 [1,3,4,4]");
}

// A pixel's brightness alone: all frames of a split are found as its tracings are drawn.
TEST(ClipSegmenter, IsEvaluatedOnTracedFrames) {
  const std::string folder = testing::tiny_echo_folder("evaluated_clips", 2);
  const Evaluation found = evaluate(pixel_segmenter(4, 1), folder, data::EchoSplit::test,
                                    {.batch_size = 2, .num_workers = 0});
  ASSERT_EQ(found.videos.size(), 2u);
  EXPECT_GT(found.dice.large.value, 0.9);
  EXPECT_GT(found.dice.small.value, 0.9);
  EXPECT_EQ(best_median_worst(pixel_segmenter(4, 1), folder, data::EchoSplit::test, found).size(),
            2u);
}

}  // namespace
}  // namespace aorta::echo
