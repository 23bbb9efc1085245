// The regressor of `aorta-echo video`: its clips, its training, how good it is said to be.
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/video/clip_evaluation.h>
#include <aorta/apps/echo/video/clip_trainer.h>
#include <aorta/apps/echo/video/video.h>
#include <aorta/tests/apps/echo/dataset.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace aorta::echo {
namespace {

VideoOptions video_options(const std::string& folder) {
  VideoOptions options;
  options.data_dir = folder;
  options.model_name = "mc3_18";
  options.pretrained = false;
  options.frames = 2;
  options.period = 2;
  options.num_epochs = 2;
  options.batch_size = 2;
  options.num_workers = 0;
  return options;
}

/// A folder whose videos have each an EF of its own.
std::string folder_of_efs(const std::string& name) {
  std::string folder = tiny_echo_folder(name, 4);
  std::ifstream in(folder + "/FileList.csv");
  std::string text, row;
  for (int line = 0; std::getline(in, row); ++line) {
    if (line > 0) row.replace(row.find(",50,"), 4, "," + std::to_string(30 + 5 * line) + ",");
    text += row + "\n";
  }
  in.close();
  std::ofstream(folder + "/FileList.csv") << text;
  return folder;
}

Regressor small_regressor(int64_t frames, int64_t period) {
  manual_seed(3);
  return make_regressor("mc3_18", {.mean = {32.4f, 33, 34}, .std = {50, 51, 52}}, "EF", frames,
                        period);
}

// np.arange(f - (length - 1) * period) of EchoNet, f filled up to length * period.
TEST(Regressor, ClipsBeginWhereEchoNetsDo) {
  EXPECT_EQ(small_regressor(32, 2).places(200), 200 - 62);
  EXPECT_EQ(small_regressor(32, 2).places(64), 2);
  EXPECT_EQ(small_regressor(32, 2).places(10), 2);
  EXPECT_EQ(small_regressor(4, 1).places(6), 3);
  EXPECT_EQ(small_regressor(1, 1).places(6), 6);
}

TEST(Regressor, BeginsAtEchoNetsMean) {
  const Regressor regressor = small_regressor(2, 2);
  const nn::Linear& head = regressor.net.as<models::VideoResNet>().fc;
  EXPECT_EQ(head.bias.item<float>(), 55.6f);
  EXPECT_EQ(head.weight.shape(), Shape({1, 512}));
  EXPECT_LE(amax(abs(head.weight)).item<double>(), 1 / std::sqrt(512.));
}

TEST(Regressor, PredictsEachClipOfAVideo) {
  const Regressor regressor = small_regressor(3, 2);
  Generator random(1);
  for (const int64_t frames : {8, 4}) {  // the second is too short by two
    const Tensor video = (rand({3, frames, 32, 32}, {}, &random) * 255).to(u8);
    const int64_t places = regressor.places(frames);
    const Tensor found = regressor.predict(video, 0, places, 3);
    ASSERT_EQ(found.shape(), Shape({places}));
    const NoGradGuard no_grad;
    regressor.net->eval();
    for (int64_t start = 0; start < places; ++start) {
      // By hand: beyond the end the mean colour, rounded to a pixel's value.
      Tensor clip = empty({1, 3, 3, 32, 32});
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t k = 0; k < 3; ++k) {
          const auto channel = static_cast<size_t>(c);
          const float mean = regressor.mean[channel], std = regressor.std[channel];
          const Tensor place = clip[0][c][k];
          if (start + 2 * k < frames)
            place.copy_((video[c][start + 2 * k].to(f32) - mean) / std);
          else
            place.fill_((std::nearbyint(mean) - mean) / std);
        }
      const double wanted = regressor.net(clip).item<double>();
      EXPECT_NEAR(found[start].item<double>(), wanted, 1e-4 * std::abs(wanted)) << start;
    }
  }
}

TEST(Regressor, KineticsHeadIsLeftOut) {
  const std::string path = ::testing::TempDir() + "kinetics.safetensors";
  const nn::AnyModule kinetics = models::make("mc3_18");
  save(kinetics->state_dict(), path);
  Regressor regressor = small_regressor(2, 2);
  const Tensor head = regressor.net.as<models::VideoResNet>().fc.weight.detach().clone();
  load_initial_weights(regressor, path);
  const models::VideoResNet& net = regressor.net.as<models::VideoResNet>();
  EXPECT_TRUE(equal(net.fc.weight, head));
  EXPECT_TRUE(equal(net.parameters()[0], kinetics->parameters()[0]));
  Regressor other = make_regressor("r3d_18", {{1, 1, 1}, {1, 1, 1}}, "EF", 2, 2);
  EXPECT_NE(error_of([&] { load_initial_weights(other, path); }), kNoError);
}

TEST(Regressor, ComesBackFromItsState) {
  const Regressor regressor = small_regressor(3, 2);
  const Regressor again = regressor_of(regressor.state(), "state");
  EXPECT_EQ(again.model_name, "mc3_18");
  EXPECT_EQ(again.task, "EF");
  EXPECT_EQ(again.frames, 3);
  EXPECT_EQ(again.period, 2);
  EXPECT_EQ(again.mean, regressor.mean);
  EXPECT_TRUE(equal(again.net->parameters()[0], regressor.net->parameters()[0]));
  State segmenter;
  segmenter.set("segmenter.model_name", "unet");
  EXPECT_EQ(error_of([&] { regressor_of(segmenter, "a"); }),
            "a: must be weights that `aorta-echo video` wrote, got those of a segmenter");
  EXPECT_EQ(error_of([] { check_regressor("resnet18", 2, 2); }),
            "--model_name: must be r2plus1d_18, mc3_18 or r3d_18, got \"resnet18\"");
}

TEST(Clips, AreTheSameForAnyNumberOfWorkers) {
  const std::string folder = folder_of_efs("clips");
  const Regressor regressor = small_regressor(2, 2);
  const auto set = echo_clips(folder, data::EchoSplit::train, regressor, 12);
  std::vector<Tensor> batches;
  for (const int workers : {0, 2}) {
    data::DataLoader loader(set,
                            {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 5});
    for (const data::Batch& batch : loader) batches.push_back(batch["video"].clone());
  }
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].shape(), Shape({4, 3, 2, 32, 32}));
  EXPECT_TRUE(equal(batches[0], batches[1]));
  // Another epoch has others.
  data::DataLoader loader(set, {.batch_size = 4, .shuffle = true, .seed = 5});
  loader.set_epoch(1);
  for (const data::Batch& batch : loader) EXPECT_FALSE(equal(batch["video"], batches[0]));
}

TEST(ClipTrainer, StepsAreSgdOnTheMeanSquaredError) {
  const std::string folder = folder_of_efs("sgd");
  const VideoOptions options = video_options(folder);
  ClipTrainer trainer(options);

  manual_seed(options.seed);
  const data::Echo clips(folder, data::EchoOptions{});
  const auto statistics = data::mean_and_std(clips, "video", {.samples = 128, .seed = 0});
  const Regressor by_hand = make_regressor("mc3_18", statistics, "EF", 2, 2);
  optim::SGD optimizer(by_hand.net->parameters(),
                       {.lr = 1e-4, .momentum = 0.9, .weight_decay = 1e-4});
  data::DataLoader loader(echo_clips(folder, data::EchoSplit::train, by_hand, 12),
                          {.batch_size = 2, .shuffle = true, .drop_last = true, .seed = 0});
  by_hand.net->train();
  double told = 0;
  for (const data::Batch& batch : loader) {
    const Tensor input = (batch["video"].to(f32) - tensor(statistics.mean).view({1, 3, 1, 1, 1})) /
                         tensor(statistics.std).view({1, 3, 1, 1, 1});
    const Tensor off = by_hand.net(input).flatten() - batch["EF"];
    const Tensor loss = mean(off * off);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    told += sum(batch["EF"]).item<double>();
    const double before = trainer.totals().loss;
    ASSERT_TRUE(trainer.step());
    EXPECT_NEAR((trainer.totals().loss - before) / 2, loss.item<double>(),
                1e-4 * loss.item<double>());
  }
  EXPECT_FALSE(trainer.step());
  EXPECT_EQ(trainer.totals().sums[2], told);
  EXPECT_EQ(told, 35 + 40 + 45 + 50);
}

// The best weights are chosen by it.
TEST(ClipTrainer, ValidatesTheSameClipsEachTime) {
  const VideoOptions options = video_options(folder_of_efs("video_validation"));
  ClipTrainer trainer(options);
  const State begun = trainer.state();
  const double first = trainer.validate()->loss;
  EXPECT_EQ(trainer.validate()->loss, first);
  ClipTrainer resumed(options, &begun);
  EXPECT_EQ(resumed.validate()->loss, first);
}

TEST(ClipTrainer, GoesOnBitForBitFromAnyStep) {
  const VideoOptions options = video_options(folder_of_efs("video_resume"));
  ClipTrainer whole(options);
  std::vector<std::string> files;
  const auto advance = [](ClipTrainer& trainer) {
    if (trainer.step()) return;
    trainer.validate();
    trainer.end_epoch();
  };
  for (int i = 0; i < 5; ++i) {  // epochs of two steps, and one that finds no more
    if (i == 1 || i == 3) {      // in the first epoch, and between the two
      files.push_back(::testing::TempDir() + "video_" + std::to_string(i) + ".safetensors");
      whole.state().save(files.back());
    }
    advance(whole);
  }
  const State end = whole.state();
  for (size_t from = 0; from < files.size(); ++from) {
    const State checkpoint = State::load(files[from]);
    manual_seed(99);  // the state must bring its own
    ClipTrainer resumed(options, &checkpoint);
    for (int i = from == 0 ? 1 : 3; i < 5; ++i) advance(resumed);
    const State state = resumed.state();
    ASSERT_EQ(state.names(), end.names());
    for (const auto& [name, tensor] : end.tensors())
      EXPECT_TRUE(equal(state.tensor(name), tensor)) << name << " from " << from;
    EXPECT_EQ(resumed.totals().sums, whole.totals().sums);
  }
}

TEST(ClipTrainer, NamesTheValuesThatHaveChanged) {
  const std::string folder = folder_of_efs("told");
  const VideoOptions options = video_options(folder);
  const State checkpoint = ClipTrainer(options).state();
  std::ifstream in(folder + "/FileList.csv");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  in.close();
  text.replace(text.find(",35,"), 4, ",36,");
  std::ofstream(folder + "/FileList.csv") << text;
  EXPECT_EQ(error_of([&] { ClipTrainer(options, &checkpoint); }),
            "--resume: the data must be those that the run began with, got others: train has other "
            "EF of \"0X1000.avi\"; --allow_changed_data takes them all the same");
}

TEST(ClipEvaluation, IsTheMeanOfAllClips) {
  const std::string folder = folder_of_efs("evaluated");
  const Regressor regressor = small_regressor(2, 2);
  for (const int workers : {0, 1}) {
    const ClipEvaluation found = evaluate_clips(regressor, folder, data::EchoSplit::test,
                                                {.batch_size = 3, .num_workers = workers});
    ASSERT_EQ(found.videos.size(), 2u);
    double error = 0;
    for (const RegressedVideo& video : found.videos) {
      ASSERT_EQ(video.clips.size(), 4u);  // 6 frames
      double mean = 0;
      for (const double value : video.clips) mean += value / 4;
      EXPECT_NEAR(video.found, mean, 1e-9);
      EXPECT_EQ(std::count(video.clips.begin(), video.clips.end(), video.one_clip), 1);
      error += std::abs(mean - video.told) / 2;
    }
    EXPECT_EQ(found.videos[0].file_name, "0X1006.avi");
    EXPECT_EQ(found.videos[0].told, 65);
    EXPECT_NEAR(found.all_clips.mae.value, error, 1e-9);
  }
}

// As it is of a segmenter's training, though no tracing is learnt from.
TEST(Clips, OfUnsoundTablesAreRefused) {
  const auto edited = [](const std::string& file, const std::string& from, const std::string& to) {
    const std::string folder = folder_of_efs("unsound");
    std::ifstream in(folder + file);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    in.close();
    text.replace(text.rfind(from), from.size(), to);
    std::ofstream(folder + file) << text;
    return folder;
  };
  const Regressor regressor = small_regressor(2, 2);
  const auto refused = [&regressor](const std::string& folder, data::EchoSplit split,
                                    const char* rule) {
    VideoOptions options = video_options(folder);
    options.run_test = true;
    options.output = folder + "/run";
    const std::string trained = error_of([&] { train_on_clips(options); });
    const std::string evaluated = error_of([&] { evaluate_clips(regressor, folder, split); });
    EXPECT_NE(trained.find(rule), std::string::npos) << trained;
    EXPECT_NE(evaluated.find(rule), std::string::npos) << evaluated;
    EXPECT_FALSE(std::filesystem::exists(options.output)) << "it began";
  };
  for (const char* value : {"1e308", "-50", "500", "", "nan"})
    refused(edited("/FileList.csv", ",65,", std::string(",") + value + ","), data::EchoSplit::test,
            ": EF must be ");
  for (const auto& [split, ef, video] :
       {std::tuple(data::EchoSplit::train, ",35,", "\n0X1000.avi,"),
        {data::EchoSplit::val, ",55,", "\n0X1004.avi,"},
        {data::EchoSplit::test, ",65,", "\n0X1006.avi,"}}) {
    refused(edited("/FileList.csv", ef, ",500,"), split, ": EF must be 0 to 100, got \"500\"");
    refused(edited("/VolumeTracings.csv", video, std::string(video) + "30"), split,
            ": a trace must lie inside the frame of 32 x 32, got pixel (30");
  }
}

// By hand: differences 1, -2, 3, 2; sum of squares 18; told 10, 20, 30, 40 about 25: 500.
TEST(ClipEvaluation, ErrorsAreTheFormulas) {
  ClipEvaluation evaluation{.split = "test", .task = "EDV"};
  const double told[] = {10, 20, 30, 40}, found[] = {11, 18, 33, 42};
  for (size_t i = 0; i < 4; ++i)
    evaluation.videos.push_back({.told = told[i], .found = found[i], .one_clip = told[i]});
  measure_errors(evaluation);
  EXPECT_DOUBLE_EQ(evaluation.all_clips.mae.value, 2);
  EXPECT_DOUBLE_EQ(evaluation.all_clips.rmse.value, std::sqrt(4.5));
  EXPECT_NEAR(evaluation.all_clips.r2.value, 1 - 18. / 500, 1e-12);
  EXPECT_DOUBLE_EQ(evaluation.all_clips.bias.value, 1);
  EXPECT_EQ(evaluation.one_clip.mae.value, 0);
  EXPECT_EQ(evaluation.one_clip.r2.value, 1);
  EXPECT_LE(evaluation.all_clips.mae.low, 2);
  EXPECT_GE(evaluation.all_clips.mae.high, 2);
  EXPECT_TRUE(evaluation.rocs.empty());
}

// The example of scikit-learn's page on roc_curve: y = 0 0 1 1, scores 0.1 0.4 0.35 0.8.
TEST(Roc, IsScikitLearnsExample) {
  const double told[] = {40, 40, 60, 60}, found[] = {0.1, 0.4, 0.35, 0.8};
  const Roc curve = roc(told, found, 50);
  EXPECT_EQ(curve.low, 2);
  EXPECT_EQ(curve.high, 2);
  EXPECT_DOUBLE_EQ(curve.area.value, 0.75);
  EXPECT_EQ(curve.false_positives, (std::vector<double>{0, 0, 0.5, 0.5, 1}));
  EXPECT_EQ(curve.true_positives, (std::vector<double>{0, 0.5, 0.5, 1, 1}));
}

// The share of pairs that are in order, ties half: counted one by one.
TEST(Roc, AreaIsThePairsInOrder) {
  Generator random(4);
  std::vector<double> told, found;
  for (int i = 0; i < 60; ++i) {
    told.push_back(20 + 50 * random.next_uniform());
    found.push_back(std::round(told.back() + 30 * random.next_uniform()));  // with ties
  }
  told[3] = 50;  // not above 50
  found[7] = std::nan("");
  double pairs = 0, ordered = 0;
  for (size_t low = 0; low < 60; ++low)
    for (size_t high = 0; high < 60; ++high) {
      if (told[low] > 50 || !(told[high] > 50) || low == 7 || high == 7) continue;
      ++pairs;
      ordered += found[high] > found[low] ? 1 : found[high] == found[low] ? 0.5 : 0;
    }
  const Roc curve = roc(told, found, 50);
  EXPECT_EQ(static_cast<double>(curve.low * curve.high), pairs);
  EXPECT_NEAR(curve.area.value, ordered / pairs, 1e-12);
  EXPECT_LT(curve.area.low, curve.area.value);
  EXPECT_GT(curve.area.high, curve.area.value);
  // The area under the points by trapezoids is the same.
  double area = 0;
  for (size_t i = 1; i < curve.false_positives.size(); ++i)
    area += (curve.false_positives[i] - curve.false_positives[i - 1]) *
            (curve.true_positives[i] + curve.true_positives[i - 1]) / 2;
  EXPECT_NEAR(area, ordered / pairs, 1e-12);
  EXPECT_TRUE(std::isnan(roc(told, found, 90).area.value));
  EXPECT_TRUE(std::isnan(roc({}, {}, 50).area.value));
}

}  // namespace
}  // namespace aorta::echo
