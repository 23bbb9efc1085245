#include <aorta/aorta.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/data/csv.h>

#include <aorta/tests/apps/echo/hearts.h>

namespace aorta::echo {
namespace {

// By hand: differences 1, -2, 3, 2; their mean 1, sum of squares 18; told 10, 20, 30, 40 about 25:
// 500.
TEST(Agreement, IsTheFormulas) {
  const double told[] = {10, 20, std::nan(""), 30, 40, 50};
  const double found[] = {11, 18, 7, 33, 42, std::nan("")};
  const Agreement result = agreement(told, found);
  EXPECT_EQ(result.count, 4);
  EXPECT_DOUBLE_EQ(result.mae, 2);
  EXPECT_DOUBLE_EQ(result.rmse, std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(result.r2, 1 - 18. / 500);
  EXPECT_DOUBLE_EQ(result.bias, 1);
  EXPECT_DOUBLE_EQ(result.low, 1 - 1.96 * std::sqrt(14. / 3));
  EXPECT_DOUBLE_EQ(result.high, 1 + 1.96 * std::sqrt(14. / 3));
  EXPECT_EQ(agreement({}, {}).count, 0);
  EXPECT_TRUE(std::isnan(agreement({}, {}).mae));
  const Agreement one = agreement({told, 1}, {found, 1});
  EXPECT_EQ(one.bias, 1);
  EXPECT_TRUE(std::isnan(one.r2) && std::isnan(one.low));
  const double same[] = {0.1, 0.1, 0.1}, others[] = {0.1, 0.2, 0.3};  // whose mean isn't 0.1
  EXPECT_TRUE(std::isnan(agreement(same, others).r2));
}

struct Hearts : TestFolder {
  Hearts() {
    for (int i = 0; i < 5; ++i)
      hearts.push_back({.frames = 40, .x = 50. + 3 * i, .phase = 4, .shrunk = 0.9 - 0.06 * i});
    write_hearts(*this, hearts);
  }
  std::vector<Heart> hearts;
};

TEST(Evaluate, FindsTheHeartsAndTheirEjectionFractions) {
  const Hearts folder;
  std::vector<int64_t> done;
  const Evaluation evaluation =
      evaluate(brightness_segmenter(), folder.str(), data::EchoSplit::test,
               {.batch_size = 2, .num_workers = 0, .progress = [&](int64_t now, int64_t count) {
                  EXPECT_EQ(count, 5);
                  done.push_back(now);
                }});
  EXPECT_EQ(done, (std::vector<int64_t>{2, 4, 5}));
  EXPECT_EQ(evaluation.split, "test");
  ASSERT_EQ(evaluation.videos.size(), 5u);
  Overlap pooled;
  for (size_t i = 0; i < 5; ++i) {
    const EvaluatedVideo& video = evaluation.videos[i];
    EXPECT_EQ(video.file_name, "heart" + std::to_string(i) + ".avi");
    EXPECT_NEAR(video.told_ef, folder.hearts[i].ef(), 1e-3);
    EXPECT_NEAR(video.found_ef, folder.hearts[i].ef(), 2);
    EXPECT_NEAR(video.traced_ef, folder.hearts[i].ef(), 3);
    EXPECT_GT(video.overlap.dice(), 0.95);
    pooled += video.overlap.large;
    pooled += video.overlap.small;
  }
  EXPECT_DOUBLE_EQ(evaluation.dice.overall.value, pooled.dice());
  EXPECT_LE(evaluation.dice.overall.low, evaluation.dice.overall.value);
  EXPECT_GE(evaluation.dice.overall.high, evaluation.dice.overall.value);
  EXPECT_EQ(evaluation.ef.count, 5);
  EXPECT_LT(evaluation.ef.mae, 2);
  EXPECT_GT(evaluation.ef.r2, 0.95);
  EXPECT_NEAR(evaluation.ef_errors.mae.value, evaluation.ef.mae, 1e-9);
  EXPECT_NEAR(evaluation.ef_errors.bias.value, evaluation.ef.bias, 1e-9);
  EXPECT_NEAR(evaluation.ef_errors.r2.value, evaluation.ef.r2, 1e-9);
  EXPECT_LT(evaluation.ef_errors.mae.low, evaluation.ef_errors.mae.high);
}

// Frames go from the workers' slots into the network's input, and traces are read where they lie.
TEST(Evaluate, InputsAreTheOnlyMemoryOfABatch) {
  const Hearts folder;
  const Segmenter segmenter = brightness_segmenter();
  const EvaluationSettings settings{.batch_size = 4, .num_workers = 1};
  evaluate(segmenter, folder.str(), data::EchoSplit::test, settings);
  cpu::reset_peak_bytes();
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  evaluate(segmenter, folder.str(), data::EchoSplit::test, settings);
  const int64_t pixels = 4 * 112 * 112, frames = 2 * 3 * pixels;
  const int64_t largest = cpu::allocator_stats().peak_bytes - before;
  EXPECT_GE(largest, 4 * frames);
  // With a phase's logits and masks; a block has up to an eighth of room behind it.
  EXPECT_LT(largest, (4 * frames + 4 * pixels + frames / 2) * 9 / 8);
}

// What is known beforehand: a network that says ventricle everywhere, and one that says it nowhere.
TEST(Evaluate, OfEverythingAndOfNothing) {
  const Hearts folder;
  const EvaluationSettings settings{.num_workers = 0};
  const Evaluation all =
      evaluate(brightness_segmenter(-1), folder.str(), data::EchoSplit::test, settings);
  for (const EvaluatedVideo& video : all.videos) {
    EXPECT_EQ(video.overlap.large.either, 112 * 112);
    EXPECT_EQ(video.found_ef, 0);
  }
  const Evaluation none =
      evaluate(brightness_segmenter(300), folder.str(), data::EchoSplit::all, settings);
  EXPECT_EQ(none.dice.overall.value, 0);
  EXPECT_EQ(none.ef.count, 0);
  EXPECT_TRUE(std::isnan(none.videos[0].found_ef));
  EXPECT_EQ(dice_line(none), "dice overall 0.0000 large 0.0000 small 0.0000");
  EXPECT_EQ(ef_line(none), "ef mae - bias - r2 -");
  EXPECT_NE(to_string(none).find("  network  none of 5 videos has an ejection fraction\n"),
            std::string::npos);
  const TestFolder out;
  EXPECT_EQ(write_evaluation(none, out.str()).size(), 4u);  // plots without a point
  for (const std::string& text : {to_string(none), read_text(out.file("all_ef.svg")),
                                  read_text(out.file("all_bland_altman.svg"))})
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  Evaluation one = all;
  one.videos.resize(1);
  one.ef = agreement(std::array{50.}, std::array{40.});
  EXPECT_NE(to_string(one).find("  network  MAE 10.00, R2 -, bias -10.00, limits of agreement - to "
                                "-\n"),
            std::string::npos)
      << to_string(one);
}

TEST(Evaluate, WritesEchoNetsTable) {
  const Hearts folder;
  const Evaluation evaluation =
      evaluate(brightness_segmenter(), folder.str(), data::EchoSplit::test, {.num_workers = 0});
  const TestFolder out;
  write_evaluation(evaluation, out.str());
  const std::string text = read_text(out.file("test_dice.csv"));
  EXPECT_TRUE(text.starts_with("Filename,Overall,Large,Small\nheart0.avi,"));
  const data::CsvTable dice = data::read_csv(out.file("test_dice.csv"));
  const data::CsvTable ef = data::read_csv(out.file("test_ef.csv"));
  ASSERT_EQ(dice.rows(), 5);
  ASSERT_EQ(ef.rows(), 5);
  for (int64_t i = 0; i < 5; ++i) {
    const EvaluatedVideo& video = evaluation.videos[static_cast<size_t>(i)];
    EXPECT_EQ(dice.number(i, 1), video.overlap.dice());
    EXPECT_EQ(dice.number(i, 3), video.overlap.small.dice());
    EXPECT_NEAR(ef.number(i, 2), video.found_ef, 1e-4);
  }
  for (const char* name : {"test_ef.svg", "test_bland_altman.svg"})
    EXPECT_TRUE(read_text(out.file(name)).starts_with("<svg"));
}

TEST(Evaluate, ShowsTheBestTheMiddleAndTheWorst) {
  const Hearts folder;
  const Segmenter segmenter = brightness_segmenter();
  const Evaluation evaluation =
      evaluate(segmenter, folder.str(), data::EchoSplit::test, {.num_workers = 0});
  const auto shown = best_median_worst(segmenter, folder.str(), data::EchoSplit::test, evaluation);
  ASSERT_EQ(shown.size(), 3u);
  const auto dice = [&](size_t i) { return evaluation.videos[shown[i].video].overlap.dice(); };
  EXPECT_GE(dice(0), dice(1));
  EXPECT_GE(dice(1), dice(2));
  for (const EvaluatedVideo& video : evaluation.videos) {
    EXPECT_LE(video.overlap.dice(), dice(0));
    EXPECT_GE(video.overlap.dice(), dice(2));
  }
  for (const EvaluatedFrames& frames : shown) {
    EXPECT_EQ(frames.large_frame.shape(), Shape({3, 112, 112}));
    const Overlap again = overlap(frames.large_mask, frames.large_trace);
    EXPECT_EQ(again.either, evaluation.videos[frames.video].overlap.large.either);
    EXPECT_EQ(overlap(frames.small_mask, frames.small_trace).intersection,
              evaluation.videos[frames.video].overlap.small.intersection);
  }
}

TEST(Evaluate, EndsWithEfAndDiceAndLeavesItsFiles) {
  const TestFolder run, folder;
  Heart heart{.frames = 26, .phase = 2};
  write_hearts(folder, {heart});
  manual_seed(3);
  make_segmenter("unet_small", {40, 40, 40}, {60, 60, 60})
      .state()
      .save(run.file("best.safetensors"));
  ::testing::internal::CaptureStdout();
  evaluate(EvaluateOptions{.run_or_weights = run.str(),
                           .data_dir = folder.str(),
                           .device = "cpu",
                           .num_workers = 0,
                           .save_video = true});
  const std::string out = ::testing::internal::GetCapturedStdout();
  const Evaluation evaluation =
      evaluate(load_segmenter(run.str()), folder.str(), data::EchoSplit::test, {.num_workers = 0});
  EXPECT_TRUE(out.ends_with("\n" + ef_line(evaluation) + "\n" + dice_line(evaluation) + "\n"))
      << out;
  EXPECT_TRUE(out.starts_with(to_string(evaluation))) << out;
  for (const char* name : {"test_dice.csv", "test_ef.csv", "test_ef.svg", "test_bland_altman.svg",
                           "size.csv", "size/heart0.svg", "videos/heart0.avi"})
    EXPECT_TRUE(std::filesystem::exists(run.file(name))) << name;
}

TEST(Evaluate, SaysWhatIsWrong) {
  const TestFolder folder;
  const auto code_of = [](const EvaluateOptions& options, const std::string& text) {
    try {
      evaluate(options);
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(text), std::string::npos) << failure.what();
      return failure.code();
    }
    return ExitCode::done;
  };
  EXPECT_EQ(code_of({.split = "tset"}, "--split: must be train, val, test or all, got \"tset\""),
            ExitCode::usage);
  EXPECT_EQ(code_of({.batch_size = 0}, "--batch_size: must be positive, got 0"), ExitCode::usage);
  EXPECT_EQ(code_of({.run_or_weights = folder.file("none.safetensors"), .data_dir = folder.str()},
                    "ENOENT"),
            ExitCode::data);
  make_segmenter("unet_small", {0, 0, 0}, {1, 1, 1}).state().save(folder.file("best.safetensors"));
  folder.write("file", "");
  EXPECT_EQ(code_of({.run_or_weights = folder.str(),
                     .data_dir = folder.str(),
                     .output = folder.file("file/below")},
                    "a folder must be there"),
            ExitCode::environment);
  EXPECT_EQ(
      code_of({.run_or_weights = folder.str(), .data_dir = folder.file("nowhere")}, "FileList.csv"),
      ExitCode::data);
}

}  // namespace
}  // namespace aorta::echo
