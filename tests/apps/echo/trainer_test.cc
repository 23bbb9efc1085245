#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/history.h>
#include <aorta/apps/echo/mask_warning.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/tests/apps/echo/dataset.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

TrainOptions options_for(const std::string& folder) {
  TrainOptions options;
  options.data_dir = folder;
  options.model_name = "unet_small";
  options.num_epochs = 2;
  options.batch_size = 2;
  options.num_workers = 0;
  options.lr = 1e-4;
  return options;
}

double difference(const Tensor& a, const Tensor& b) { return amax(abs(a - b)).item<double>(); }

std::string training_error(const TrainOptions& options, ExitCode code,
                           const State* checkpoint = nullptr) {
  try {
    const Trainer trainer(options, checkpoint);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "no error";
}

// The formulation that EchoNet runs: a pass of the ends of diastole, a pass of the ends of systole,
// the losses added and halved.
TEST(Trainer, TwoPassesAsOneBatchAreTheSameNumbers) {
  const std::string folder = tiny_echo_folder("passes");
  TrainOptions options = options_for(folder);
  Trainer trainer(options);

  manual_seed(options.seed);
  const data::Echo clips(folder, data::EchoOptions{});
  const auto statistics = data::mean_and_std(clips, "video", {.samples = 128, .seed = 0});
  const Segmenter by_hand = make_segmenter("unet_small", statistics.mean, statistics.std);
  by_hand.net->to(MemoryFormat::channels_last);
  optim::SGD optimizer(by_hand.net->parameters(), {.lr = options.lr, .momentum = 0.9});
  data::DataLoader loader(echo_frames(folder, data::EchoSplit::train),
                          {.batch_size = 2, .shuffle = true, .drop_last = true, .seed = 0});
  for (const data::Batch& batch : loader) {
    optimizer.zero_grad();
    Tensor loss;
    for (const std::string which : {"Large", "Small"}) {
      const Tensor logits = by_hand.logits(by_hand.normalised({batch[which + "Frame"]}));
      const Tensor part = binary_cross_entropy_with_logits(logits, batch[which + "Trace"].to(f32),
                                                           {.reduction = Reduction::sum});
      loss = loss.defined() ? loss + part : part;
    }
    loss = loss / 2;
    loss.backward();
    optimizer.step();
    const double before = trainer.totals().loss;
    ASSERT_TRUE(trainer.step());
    EXPECT_NEAR(trainer.totals().loss - before, loss.item<double>(), 1e-5 * loss.item<double>());
  }
  EXPECT_FALSE(trainer.step());
  const NamedTensors ours = trainer.segmenter().net->state_dict();
  const NamedTensors theirs = by_hand.net->state_dict();
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].second.dtype() != f32) {
      EXPECT_TRUE(equal(ours[i].second, theirs[i].second)) << ours[i].first;
      continue;
    }
    const double largest = amax(abs(theirs[i].second)).item<double>();
    EXPECT_LE(difference(ours[i].second, theirs[i].second), 2e-4 * largest + 1e-6) << ours[i].first;
  }
}

// Two devices, one that normalises the same two parts of a batch, and one that doesn't.
TEST(Trainer, SeveralDevicesHaveTheLossesOfOne) {
  TrainOptions options = options_for(tiny_echo_folder("devices"));
  options.batch_size = 4;
  const auto losses = [&](const std::string& devices, std::optional<int64_t> parts) {
    options.devices = devices;
    options.batch_parts = parts;
    manual_seed(0);
    Trainer trainer(options);
    std::vector<double> found;
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      while (trainer.step()) found.push_back(trainer.totals().loss);
      EXPECT_TRUE(std::isfinite(trainer.validate()->loss));
      trainer.end_epoch();
    }
    return found;
  };
  const std::vector<double> two = losses("cpu:0,cpu:1", {}), one = losses("", 2),
                            plain = losses("", {});
  ASSERT_GE(two.size(), 2u);
  ASSERT_EQ(two.size(), one.size());
  for (size_t i = 0; i < two.size(); ++i) EXPECT_NEAR(two[i], one[i], 1e-5 * one[i]) << i;
  EXPECT_GT(std::abs(one[0] - plain[0]), 5e-5 * plain[0]);
}

TEST(Trainer, DevicesThatItRefuses) {
  TrainOptions options = options_for(tiny_echo_folder("refused"));
  const auto error = [&](const std::string& devices, std::optional<int64_t> parts = {}) {
    options.devices = devices;
    options.batch_parts = parts;
    return training_error(options, ExitCode::usage);
  };
  for (const char* list : {"cpu", "cpu:0,", ",cpu:0", "cpu:0,tpu:1", "cpu:0 cpu:1"})
    EXPECT_EQ(
        error(list),
        "--devices: must be devices by their numbers, as cuda:0,cuda:1 or cpu:0,cpu:1, got \"" +
            std::string(list) + "\"");
  EXPECT_EQ(error("cpu:0,cpu:1,cpu:2"),
            "--batch_size: must be a multiple of the number of --devices, got 2 for 3");
  EXPECT_EQ(error("cpu:0,cpu:1", 3),
            "--batch_parts: must be a multiple of the number of --devices, got 3 for 2");
  EXPECT_EQ(error("", 4), "--batch_parts: must divide --batch_size, got 4 for 2");
  EXPECT_EQ(error("", 0), "--batch_parts: must be positive, got 0");
  options.device = "cpu";
  EXPECT_EQ(error("cpu:0,cpu:1"), "--devices: goes without --device, got --device \"cpu\"");
}

// Frames and traces go from the workers' slots into the network's input: nothing of a batch lies on
// the host a second time, also not where the last batch is smaller.
TEST(Trainer, InputsAreTheOnlyMemoryOfABatch) {
  const std::string folder = tiny_echo_folder("inputs", 7);
  const Segmenter segmenter = make_segmenter("unet_small", {30, 31, 32}, {50, 51, 52});
  for (const int workers : {0, 1}) {
    data::DataLoaderOptions options{.batch_size = 5, .num_workers = workers};
    int64_t taken = 0, largest = 0;
    options.batch_transform = [&](const data::Batch& batch) {
      cpu::reset_peak_bytes();
      const int64_t before = cpu::allocator_stats().bytes_in_use;
      data::Batch both = with_inputs(batch, segmenter);
      taken = cpu::allocator_stats().bytes_in_use - before;
      largest = cpu::allocator_stats().peak_bytes - before;
      return both;
    };
    data::DataLoader loader(echo_frames(folder, data::EchoSplit::train), options);
    for (const data::Batch& batch : loader) {
      const int64_t count = batch["LargeFrame"].size(0);
      const int64_t asked = 2 * count * (3 + 1) * 32 * 32 * 4;
      EXPECT_GE(taken, asked);
      EXPECT_LT(taken, asked + asked / 8 + 1024);  // rounded up
      EXPECT_LT(largest, asked + asked / 8 + 4096) << "with the means and deviations";
      const Tensor frames = cat({batch["LargeFrame"], batch["SmallFrame"]});
      EXPECT_TRUE(equal(batch["input"], segmenter.normalised({frames})));
      EXPECT_TRUE(batch["input"].is_contiguous(MemoryFormat::channels_last));
      EXPECT_TRUE(equal(batch["truth"], cat({batch["LargeTrace"], batch["SmallTrace"]}).to(f32)));
    }
  }
}

// Dropout, augmentation, momentum and a schedule a step: all of it must come back.
TEST(Trainer, GoesOnBitForBitFromAnyStep) {
  TrainOptions options = options_for(tiny_echo_folder("resume", 4));
  // Under the address sanitizer a ResNet takes minutes; unet_small has no dropout.
#if !defined(__SANITIZE_ADDRESS__)
  options.model_name = "fcn_resnet50";
#endif
  options.augment = true;
  options.schedule = "onecycle";
  Trainer whole(options);
  std::vector<std::string> files;
  const auto advance = [](Trainer& trainer) {
    if (trainer.step()) return;
    trainer.validate();
    trainer.end_epoch();
  };
  for (int i = 0; i < 6; ++i) {  // epochs of two steps, and one that finds no more
    if (i >= 2 && i <= 4) {      // all steps made; the epoch ended; one step of the next
      files.push_back(::testing::TempDir() + "resume_" + std::to_string(i) + ".safetensors");
      whole.state().save(files.back());
    }
    advance(whole);
  }
  const State end = whole.state();
  for (size_t from = 0; from < files.size(); ++from) {
    const State checkpoint = State::load(files[from]);
    manual_seed(99);  // the state must bring its own
    Trainer resumed(options, &checkpoint);
    for (size_t i = from + 2; i < 6; ++i) advance(resumed);
    const State state = resumed.state();
    ASSERT_EQ(state.names(), end.names());
    for (const auto& [name, tensor] : end.tensors())
      EXPECT_TRUE(equal(state.tensor(name), tensor)) << name << " from step " << from;
    EXPECT_EQ(resumed.steps(), whole.steps());
    EXPECT_EQ(resumed.totals().loss, whole.totals().loss);
    EXPECT_EQ(resumed.lr(), whole.lr());
  }
}

TEST(Trainer, StoppedInAValidationItGoesOnWithThatValidation) {
  const TrainOptions options = options_for(tiny_echo_folder("validation", 4));
  Trainer whole(options);
  while (whole.step()) continue;
  const Totals train = whole.totals();
  EXPECT_FALSE(whole.validate([](const Totals&) { return false; }));
  const State checkpoint = whole.state();
  Trainer resumed(options, &checkpoint);
  EXPECT_FALSE(resumed.step());
  EXPECT_EQ(resumed.steps(), 2);
  EXPECT_EQ(resumed.totals().loss, train.loss);
  EXPECT_EQ(resumed.totals().samples, train.samples);
  const auto validation = whole.validate(), again = resumed.validate();
  ASSERT_TRUE(validation && again);
  EXPECT_EQ(again->loss, validation->loss);
  for (Trainer* trainer : {&whole, &resumed}) {
    trainer->end_epoch();
    EXPECT_TRUE(trainer->step());
  }
  EXPECT_EQ(resumed.totals().loss, whole.totals().loss);
}

// The folder's table with a line (from 0) gone.
void drop_line(const std::string& folder, int line) {
  std::ifstream in(folder + "/FileList.csv");
  std::string text, row;
  for (int i = 0; std::getline(in, row); ++i)
    if (i != line) text += row + "\n";
  in.close();
  std::ofstream(folder + "/FileList.csv") << text;
}

TEST(Trainer, GoesOnWithChangedDataWhenToldTo) {
  const std::string folder = tiny_echo_folder("changed", 6);
  TrainOptions options = options_for(folder);
  Trainer whole(options);
  EXPECT_TRUE(whole.changed_data().empty());
  ASSERT_TRUE(whole.step());
  const State checkpoint = whole.state();
  EXPECT_TRUE(Trainer(options, &checkpoint).changed_data().empty());
  drop_line(folder, 1);
  EXPECT_EQ(training_error(options, ExitCode::data, &checkpoint),
            "--resume: the data must be those that the run began with, got others: train lacks "
            "\"0X1000.avi\"; --allow_changed_data takes them all the same");
  options.allow_changed_data = true;
  Trainer resumed(options, &checkpoint);
  EXPECT_EQ(resumed.changed_data(),
            "the data must be those that the run began with, got others: train lacks "
            "\"0X1000.avi\"; going on with them");
  // The place among six videos is none among five: the epoch begins anew.
  EXPECT_EQ(resumed.steps(), 1);
  EXPECT_EQ(resumed.epoch_steps(), 0);
  while (resumed.step()) continue;
  EXPECT_EQ(resumed.steps(), 3);
  EXPECT_EQ(resumed.totals().samples, 4);
  const State later = resumed.state();  // knows the data that it has
  EXPECT_TRUE(Trainer(options_for(folder), &later).changed_data().empty());
}

TEST(Trainer, AScheduleOfStepsKeepsTheNumberOfVideos) {
  const std::string folder = tiny_echo_folder("steps", 6);
  TrainOptions options = options_for(folder);
  options.schedule = "onecycle";
  options.allow_changed_data = true;
  const State checkpoint = Trainer(options).state();
  drop_line(folder, 8);  // of VAL
  EXPECT_EQ(training_error(options, ExitCode::usage, &checkpoint), "no error");
  drop_line(folder, 1);
  EXPECT_EQ(training_error(options, ExitCode::usage, &checkpoint),
            "--allow_changed_data: a schedule of steps, as onecycle, needs as many training videos "
            "as before, got 5 after 6");
}

TEST(Trainer, SaysThatAnOlderCheckpointDoesNotKnowItsData) {
  const TrainOptions options = options_for(tiny_echo_folder("older", 4));
  const State state = Trainer(options).state();
  State older;
  for (const auto& [name, tensor] : state.tensors())
    if (!name.starts_with("data.")) older.set(name, tensor);
  for (const auto& [name, value] : state.values()) older.set(name, value);
  EXPECT_EQ(Trainer(options, &older).changed_data(),
            "the checkpoint, of an older version, doesn't say its data; that they are the same "
            "isn't known");
}

TEST(Trainer, LossThatIsNotFiniteNamesItsStepFilesAndLayer) {
  TrainOptions options = options_for(tiny_echo_folder("diverge"));
  for (const char* devices : {"", "cpu:0,cpu:1"}) {
    options.devices = devices;
    Trainer trainer(options);
    ASSERT_TRUE(trainer.step());
    for (const auto& [name, parameter] : trainer.segmenter().net->named_parameters()) {
      const NoGradGuard no_grad;
      if (name == "encoder.1.3.weight") parameter.fill_(std::nan(""));
    }
    std::map<std::string, Tensor> before;
    const State state = trainer.segmenter().state();
    for (const auto& [name, tensor] : state.tensors()) before[name] = tensor.clone();
    const GeneratorState random = default_generator().state();
    try {
      trainer.step();
      ADD_FAILURE() << "no error";
    } catch (const Failure& failure) {
      const std::string text = failure.what();
      EXPECT_EQ(failure.code(), ExitCode::diverged);
      EXPECT_TRUE(text.starts_with("the loss must be finite, got nan at step 2 (epoch 1) of 0X10"))
          << text;
      EXPECT_TRUE(text.ends_with("the first output that isn't is that of encoder.1.3")) << text;
    }
    const State& replay = trainer.replay();
    EXPECT_EQ(replay.get<int64_t>("replay.step"), 2);
    EXPECT_EQ(replay.get<std::vector<std::string>>("replay.files").size(), 2u);
    EXPECT_EQ(replay.tensor("replay.frames").shape(), Shape({4, 3, 32, 32}));
    // The running statistics too, which the forward moves.
    for (const auto& [name, tensor] : before)
      EXPECT_TRUE(name == "model.encoder.1.3.weight" ||
                  (replay.contains(name) && equal(replay.tensor(name), tensor)))
          << name;
    EXPECT_TRUE(before.contains("model.encoder.1.1.running_mean"));
    EXPECT_EQ(default_generator().state().position, random.position);
  }
}

TEST(Trainer, RefusesWhatCannotBeTrained) {
  const std::string folder = tiny_echo_folder("refuse");
  TrainOptions options = options_for(folder);
  options.batch_size = 7;
  EXPECT_EQ(training_error(options, ExitCode::usage),
            "--batch_size: must be at most the number of training videos (the last batch is left "
            "out when it isn't full), got 7 of 6");
  options = options_for(folder);
  options.num_train_patients = 7;
  EXPECT_EQ(training_error(options, ExitCode::usage),
            "--num_train_patients: must be 1 to the number of videos, 6, got 7");
  options = options_for(folder);
  options.lr = 0;
  EXPECT_EQ(training_error(options, ExitCode::usage), "--lr: must be positive, got 0");
  options = options_for(folder);
  options.model_name = "resnet18";
  EXPECT_EQ(training_error(options, ExitCode::usage),
            "model_name: must be one of deeplabv3_resnet50, deeplabv3_resnet101, fcn_resnet50, "
            "fcn_resnet101, unet, unet_small, unet_3d, got \"resnet18\"");
  options = options_for(folder);
  options.optimizer = "adma";
  EXPECT_EQ(training_error(options, ExitCode::usage),
            "--optimizer: must be sgd, nesterov, adagrad, adadelta, rmsprop, adam, adamw, nadam or "
            "adamax, got \"adma\"");
  options = options_for(folder + "_not_there");
  EXPECT_TRUE(training_error(options, ExitCode::data).find("FileList.csv") != std::string::npos);
}

TEST(Trainer, ChoosesVideosBySeed) {
  const std::string folder = tiny_echo_folder("subset");
  TrainOptions options = options_for(folder);
  options.num_train_patients = 3;
  EXPECT_EQ(Trainer(options).train_size(), 3);
}

TEST(Trainer, RemembersHowLargeItsFramesWere) {
  const TrainOptions options = options_for(tiny_echo_folder("coarse", 4, 48));
  const State state = Trainer(options).network_state();
  EXPECT_EQ(state.get<int64_t>("segmenter.side"), 48);
  EXPECT_EQ(segmenter_of(state, "state").side, 48);
}

// Totals of 1000 pixels in two frames: what the masks and the tracings share and have, what
// either marks, and the loss of a pixel.
Totals totals_of(double shared, double found, double traced, double loss) {
  Totals totals;
  totals.count = 500;
  totals.loss = 500 * loss;
  totals.sums = {shared, found + traced - shared, 0, 0, found, traced};
  return totals;
}

TEST(MaskWarning, NamesTheCause) {
  const double none = std::nan("");
  const auto warned = [](const Totals& totals, double before) {
    return mask_warning(totals, totals, before, 1e-5);
  };
  EXPECT_EQ(warned(totals_of(80, 100, 100, 0.2), 0.2), "");
  EXPECT_EQ(warned(totals_of(0, 0, 0, 0.2), none),
            "the Dice of validation is 0.0000: the tracings enclose no pixel; look at "
            "VolumeTracings.csv");
  const std::string empty =
      "the Dice of validation is 0.0000: the network marks no pixel (empty masks); its training "
      "loss is 0.5000";
  EXPECT_EQ(warned(totals_of(0, 0, 100, 0.5), 0.501),
            empty +
                ", not 1 % lower than an epoch before: a learning rate (--lr) of 1e-05 is too low, "
                "or the steps are too few");
  EXPECT_EQ(warned(totals_of(0, 0, 100, 0.5), 0.6),
            empty + ", and falls: it needs more steps, or a learning rate (--lr) above 1e-05");
  EXPECT_EQ(warned(totals_of(0, 0, 100, 0.5), none),
            empty +
                " after its first epoch: it may need more steps, or a learning rate (--lr) above "
                "1e-05");
  const std::string high =
      "0, above 0.6931, that of a network that knows nothing: a learning rate (--lr) of 1e-05 is "
      "too high";
  for (const auto& [loss, before] : {std::pair(9.125, none), {0.75, 0.74}})
    EXPECT_TRUE(warned(totals_of(0, 30, 100, loss), before).ends_with(high)) << loss;
  EXPECT_TRUE(warned(totals_of(0, 30, 100, 0.75), 0.8).ends_with("above 1e-05"));
  const auto starts = [&](const Totals& totals, const std::string& text) {
    EXPECT_EQ(warned(totals, 8).substr(0, text.size()), text);
  };
  starts(totals_of(0, 30, 100, 9),
         "the Dice of validation is 0.0000: the network marks 3.0 % of the pixels, and hardly one "
         "in the tracings; its training loss");
  starts(totals_of(100, 1000, 100, 0.69),
         "the Dice of validation is 0.1818: the network marks 100 % of the pixels (all "
         "foreground); its training loss");
}

TEST(History, LossThatIsNotFiniteIsNeverTheBest) {
  History history{.score_columns = {"overall_dice"}};
  for (const double loss : {std::nan(""), 0.5, 0.25, -std::nan("")})
    history.rows.push_back(
        {.epoch = std::ssize(history.rows), .training = false, .loss = loss, .scores = {0}});
  EXPECT_EQ(history.best_epoch(), 2);
  EXPECT_EQ(history.best_loss(), 0.25);
  history.rows.resize(1);
  EXPECT_EQ(history.best_epoch(), -1);
}

TEST(History, ComesBackAndReadsAsCsv) {
  Totals totals;
  totals.loss = 50, totals.count = 100, totals.samples = 4;
  totals.sums = {30, 50, 10, 30};
  const Trainer trainer(options_for(tiny_echo_folder("history", 2)));
  const std::vector<Score>& scores = trainer.scores();
  History history{.score_columns = {"overall_dice", "large_dice", "small_dice"}};
  history.rows.push_back(history_row(0, true, totals, scores, 2));
  totals.loss = 25;
  history.rows.push_back(history_row(0, false, totals, scores, 2));
  EXPECT_DOUBLE_EQ(history.rows[1].scores[1], 60. / 80);
  EXPECT_DOUBLE_EQ(history.rows[1].scores[0], 80. / 120);
  EXPECT_EQ(history.best_epoch(), 0);
  EXPECT_EQ(history.best_loss(), 0.25);
  History again{.score_columns = history.score_columns};
  again.restore(history.state());
  EXPECT_EQ(again.csv(), history.csv());
  const std::string text = history.csv();
  EXPECT_TRUE(text.starts_with(
      "epoch,phase,loss,overall_dice,large_dice,small_dice,time,samples,memory_allocated,"
      "memory_reserved,batch_size\n0,train,0.5,0.6666666666666666,0.75,0.5,0.000,4,"))
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

}  // namespace
}  // namespace aorta::echo
