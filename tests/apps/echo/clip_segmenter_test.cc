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

/// Mean of the middle frame's channels less `level`: a pixel's logit, whatever is around it.
Segmenter pixel_segmenter(int64_t frames, int64_t period, double level = 100) {
  nn::Conv3d convolution(3, 1, {frames, 1, 1});
  const NoGradGuard no_grad;
  convolution.weight.fill_(0);
  convolution.weight.select(2, frames / 2).fill_(1. / 3);
  convolution.bias.fill_(-level);
  return {.model_name = "unet_3d",
          .net = convolution,
          .mean = {0, 0, 0},
          .std = {1, 1, 1},
          .frames = frames,
          .period = period};
}

/// A logit is 100 times the first frame's red, and the last one's.
struct Ends : nn::Module {
  Tensor forward(const Tensor& clips) const override {
    return (100 * clips.narrow(2, 0, 1) + clips.narrow(2, clips.size(2) - 1, 1)).narrow(1, 0, 1);
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

// The video's ends stand for what a window lacks; each frame is read once.
TEST(VideoMasks, SlideOverTheVideo) {
  RandomVideo video(7);
  for (int64_t frame = 0; frame < 7; ++frame) video.pixels[frame].fill_(frame);
  Segmenter segmenter = pixel_segmenter(4, 2);
  segmenter.net = Ends();
  VideoMasks found(segmenter, video.frames());
  const double wanted[] = {2, 3, 4, 5, 6, 106, 206};  // frames -4 and +2 from each
  for (int64_t frame = 0; frame < 7; ++frame)
    EXPECT_FLOAT_EQ(found.logits(frame, 1).at<float>({0, 2, 3}), static_cast<float>(wanted[frame]));
  EXPECT_EQ(video.read.size(), 7u);
  EXPECT_EQ(found.logits(2, 4).shape(), Shape({4, 5, 6}));
  RandomVideo again(7);
  VideoMasks whole(segmenter, again.frames());
  whole.logits(0, 4);
  whole.logits(4, 3);
  EXPECT_EQ(again.read.size(), 7u);
  EXPECT_EQ(error_of([&] { found.logits(5, 3); }),
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
  data::DataLoader loader(echo_frames(folder, data::EchoSplit::train, &segmenter),
                          {.batch_size = 2});
  for (const data::Batch& batch : loader) return with_inputs(batch, segmenter);
  fail("batch_of", "there must be a batch", "none");
}

/// What a Trainer keeps to itself.
struct OpenTrainer : Trainer {
  using Trainer::loss;
  using Trainer::output;
  using Trainer::Trainer;
};

// The network's logits are all its head's bias, and loss and gradient are found by hand: the loss
// is that of the traced frames' pixels.
TEST(ClipTrainer3d, LearnsFromTracedFrames) {
  const std::string folder = tiny_echo_folder("weak_labels", 4);
  OpenTrainer trainer(clip_options_for(folder, 3));
  const Segmenter& segmenter = trainer.segmenter();
  {
    const NoGradGuard no_grad;
    for (const Tensor& parameter : segmenter.net->parameters()) Tensor(parameter).zero_();
  }
  const Tensor bias = segmenter.net.as<models::UNet3d>().net.head.bias;
  const double z = -0.7;
  bias.data<float>()[0] = static_cast<float>(z);
  const data::Batch batch = batch_of(folder, segmenter);
  EXPECT_EQ(batch["input"].shape(), Shape({4, 3, 3, 32, 32}));
  const Tensor loss = trainer.loss(trainer.output(batch), batch);
  loss.backward();
  double wanted = 0, gradient = 0;
  for (const float label : batch["truth"].flatten().to_vector<float>()) {
    wanted += (std::log1p(std::exp(z)) - static_cast<double>(label) * z) / 2;
    gradient += (1 / (1 + std::exp(-z)) - static_cast<double>(label)) / 2;
  }
  EXPECT_NEAR(loss.item<double>(), wanted, 1e-4 * wanted);
  EXPECT_NEAR(bias.grad().data<float>()[0], gradient, 1e-2);
}

// Pre-training, the epoch after it, and what lies between.
TEST(ClipTrainer3d, GoesOnBitForBitFromAnyStep) {
  TrainOptions options = clip_options_for(tiny_echo_folder("clips_resume", 4), 4);
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

// The squared error of a network whose logits are 0 is the mean square of the grey pixels of the
// frames in the middle.
TEST(ClipTrainer3d, PreTrainingFillsInPixels) {
  TrainOptions options = clip_options_for(tiny_echo_folder("filled_in", 4), 4);
  options.pretrain_epochs = 1;
  OpenTrainer trainer(options);
  {
    const NoGradGuard no_grad;
    for (const Tensor& parameter : trainer.segmenter().net->parameters()) Tensor(parameter).zero_();
  }
  const data::Batch batch = batch_of(options.data_dir, trainer.segmenter());
  const Tensor output = trainer.output(batch), grey = mean(batch["input"].select(2, 2), 1);
  EXPECT_EQ(output.shape(), Shape({4, 32, 32}));
  const double wanted = mean(grey * grey).item<double>() * 2 * 32 * 32;
  EXPECT_NEAR(trainer.loss(output, batch).item<double>(), wanted, 1e-4 * wanted);
}

// A part of a batch is both phases of its videos, here 0 and 1, and 2 and 3, as in the epochs
// after.
TEST(ClipTrainer3d, PreTrainingNormalisesTheVideosOfAPartTogether) {
  TrainOptions options = clip_options_for(tiny_echo_folder("parts_filled_in", 4), 3);
  options.pretrain_epochs = 1;
  options.batch_size = 4;
  const OpenTrainer whole(options);
  options.batch_parts = 2;
  const OpenTrainer trainer(options);
  data::DataLoader loader(
      echo_frames(options.data_dir, data::EchoSplit::train, &trainer.segmenter()),
      {.batch_size = 4});
  const data::Batch batch = with_inputs(*loader.begin(), trainer.segmenter());
  manual_seed(5);
  const Tensor output = trainer.output(batch);
  manual_seed(5);
  const Tensor shown = batch["input"] * (rand({8, 1, 3, 1, 1}) >= 0.6).to(f32);
  for (const int64_t part : {0, 1}) {
    const Tensor rows = tensor({2 * part, 2 * part + 1, 4 + 2 * part, 5 + 2 * part}).to(i64);
    const Tensor wanted = whole.segmenter().logits(index_select(shown, 0, rows));
    EXPECT_LT(amax(abs(index_select(output, 0, rows) - wanted)).item<double>(), 1e-4) << part;
  }
}

TEST(ClipSegmenter, ComesBackFromItsState) {
  const Segmenter segmenter = make_segmenter("unet_3d", {1, 2, 3}, {4, 5, 6}, 6, 2);
  const Segmenter again = segmenter_of(segmenter.state(), "state");
  EXPECT_EQ(again.frames, 6);
  EXPECT_EQ(again.period, 2);
  EXPECT_TRUE(again.takes_clips());
  EXPECT_FALSE(make_segmenter("unet_small", {1, 2, 3}, {4, 5, 6}).takes_clips());
  EXPECT_EQ(error_of([] { make_segmenter("unet_3d", {1}, {1}, 0); }),
            "--frames: must be 1 to 64, got 0");
  EXPECT_EQ(error_of([] { make_segmenter("unet_3d", {1}, {1}, 4, 0); }),
            "--period: must be positive, got 0");
  EXPECT_EQ(error_of([&] {
              segmenter.normalised({zeros({1, 3, 4, 4}, {.dtype = u8})});
            }),
            "segmenter: clips must be u8 (N, 3, T, H, W), got u8 [1,3,4,4]");
  EXPECT_EQ(error_of([&] {
              segmenter.normalised({zeros({1, 3, 5, 4, 4}, {.dtype = u8})});
            }),
            "segmenter: clips must have as many frames as the network sees, got 5 for 6");
}

// A pixel's brightness alone: all frames of a split are found as its tracings are drawn.
TEST(ClipSegmenter, IsEvaluatedOnTracedFrames) {
  const std::string folder = tiny_echo_folder("evaluated_clips", 2);
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
