#include <aorta/aorta.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/core/io/npz.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <filesystem>

namespace aorta::echo {
namespace {

Tensor frames(int64_t count) {
  Generator random(3);
  return randint(0, 256, {count, 3, 32, 40}, {}, &random).to(u8);
}

bool close(const Tensor& a, const Tensor& b, double tolerance) {
  return amax(abs(a - b)).item<double>() <= tolerance;
}
TEST(Segmenter, IsTheNetworkOfNormalisedFrames) {
  manual_seed(1);
  const Segmenter segmenter = make_segmenter("unet_small", {30, 31, 32}, {50, 51, 52});
  segmenter.net->eval();
  const Tensor in = frames(2);
  const Tensor by_hand = (in.to(f32) - tensor({30.f, 31.f, 32.f}).view({1, 3, 1, 1})) /
                         tensor({50.f, 51.f, 52.f}).view({1, 3, 1, 1});
  EXPECT_TRUE(close(segmenter.normalised({in}), by_hand, 1e-6));
  EXPECT_TRUE(equal(segmenter.normalised({in.narrow(0, 0, 1), in.narrow(0, 1, 1)}),
                    segmenter.normalised({in})));
  EXPECT_EQ(error_of([&] {
              segmenter.normalised({in, in.narrow(3, 0, 1)});
            }),
            "segmenter: frames must have one size, got [2,3,32,40] and [2,3,32,1]");
  {
    const NoGradGuard no_grad;  // logits on both sides of 0
    segmenter.net->named_parameters().back().second -=
        mean(segmenter.logits(segmenter.normalised({in})));
  }
  const Tensor logits = segmenter.logits(segmenter.normalised({in}));
  EXPECT_EQ(logits.shape(), Shape({2, 32, 40}));
  EXPECT_TRUE(close(logits, segmenter.net(by_hand).squeeze(1), 1e-4));
  segmenter.net->train();
  const Tensor masks = segmenter.masks(in);
  EXPECT_TRUE(segmenter.net->is_training());
  EXPECT_NE(error_of([&] { segmenter.masks(in[0]); }), "");
  EXPECT_TRUE(segmenter.net->is_training());
  EXPECT_TRUE(equal(masks, (logits > 0).to(u8)));
  EXPECT_GT(sum(masks).item<int64_t>(), 0);
  EXPECT_LT(sum(masks).item<int64_t>(), masks.numel());
}

TEST(Segmenter, ComesBackFromItsFile) {
  manual_seed(2);
  const Segmenter segmenter = make_segmenter("unet_small", {1, 2, 3}, {4, 5, 6});
  const std::string folder = testing::TempDir() + "segmenter";
  std::filesystem::create_directories(folder);
  segmenter.state().save(folder + "/best.safetensors");
  const Segmenter loaded = load_segmenter(folder);
  EXPECT_EQ(loaded.model_name, "unet_small");
  EXPECT_EQ(loaded.std, segmenter.std);
  EXPECT_TRUE(equal(loaded.masks(frames(1)), segmenter.masks(frames(1))));
}

// How far apart a clip's frames are isn't in tensors alone.
TEST(Segmenter, OfClipsNeedsToKnowTheirPeriod) {
  const Segmenter segmenter = make_segmenter("unet_3d", {1, 2, 3}, {4, 5, 6}, 3, 7);
  const std::string file = testing::TempDir() + "clips.npz";
  npz::save(segmenter.net->state_dict(), file);
  const auto statistics = [] { return data::ChannelStatistics{{1, 2, 3}, {4, 5, 6}}; };
  EXPECT_NE(error_of([&] {
              load_segmenter(file, {.model_name = "unet_3d", .statistics = statistics});
            }).find("become a run first, by `aorta-echo train --num_epochs 0 --weights FILE"),
            std::string::npos);
}

// What `export --dtype f16` writes is computed in f32.
TEST(Segmenter, TakesHalfTypes) {
  manual_seed(4);
  const Segmenter segmenter = make_segmenter("unet_small", {1, 2, 3}, {4, 5, 6});
  const State whole = segmenter.state();
  State state;
  for (const auto& [name, value] : whole.values()) state.set(name, value);
  for (const auto& [name, tensor] : segmenter.net->state_dict())
    state.set(name, is_floating(tensor.dtype()) ? tensor.to(f16) : tensor);
  const Segmenter half = segmenter_of(state, "half");
  const NamedTensors ours = segmenter.net->state_dict(), theirs = half.net->state_dict();
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(theirs[i].second.dtype(), ours[i].second.dtype()) << ours[i].first;
    if (!is_floating(ours[i].second.dtype())) continue;
    EXPECT_TRUE(equal(theirs[i].second, ours[i].second.to(f16).to(f32))) << ours[i].first;
  }
}

TEST(Failure, KeepsTheCodeThatWasNearest) {
  const auto code_of = [](const auto& run) {
    try {
      run();
    } catch (const Failure& failure) {
      return failure.code();
    }
    return ExitCode::done;
  };
  EXPECT_EQ(code_of([] { with_code(ExitCode::data, [] { fail("a", "b"); }); }), ExitCode::data);
  EXPECT_EQ(code_of([] {
              with_code(ExitCode::data, [] { throw Failure(ExitCode::storage, "disk full"); });
            }),
            ExitCode::storage);
  EXPECT_EQ(with_code(ExitCode::data, [] { return 7; }), 7);
}

}  // namespace
}  // namespace aorta::echo
