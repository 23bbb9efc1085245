#pragma once

#include <aorta/apps/echo/measure/dice.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/loader.h>
#include <aorta/nn/parallel/data_parallel.h>

#include <functional>
#include <utility>

namespace aorta::echo {

/// A phase of an epoch so far.
struct Totals {
  double loss = 0;  // sum over pixels and samples, the mean of both passes
  int64_t pixels = 0;
  int64_t samples = 0;
  Overlap large, small;
  double seconds = 0;

  /// A pixel's mean loss.
  double mean_loss() const { return loss / static_cast<double>(pixels); }
  double dice() const;
};

/// Where the time of a run went, in seconds.
struct RunTimes {
  double wait = 0;  // for a batch, with its conversion into the network's input
  double forward = 0, backward = 0, update = 0, validate = 0, save = 0;
  double evaluate = 0;  // the best weights at the end, and their videos
};
/// By what they are called in reports.
inline constexpr std::pair<const char*, double RunTimes::*> kRunTimes[] = {
    {"waiting for data", &RunTimes::wait},
    {"forward", &RunTimes::forward},
    {"backward", &RunTimes::backward},
    {"optimizer", &RunTimes::update},
    {"validation", &RunTimes::validate},
    {"saving", &RunTimes::save},
    {"evaluation at the end", &RunTimes::evaluate}};

/// Training without files: data, network, optimizer and schedule, a step at a time.
///
/// The two passes of a step, end of diastole and of systole, run as one batch whose batch
/// normalisation has two groups of statistics: the numbers are those of two passes whose losses are
/// added and halved. With --devices or --batch_parts each of P parts of the videos has two groups
/// of its own: on P devices, on fewer, or on one, the numbers are the same up to rounding, but for
/// the running statistics, which are those of the first device's parts.
class Trainer {
 public:
  /// Goes on from `checkpoint`, the state() of a trainer with the same options, where one is given.
  /// Throws Failure(data) where its data were others, unless options.allow_changed_data.
  explicit Trainer(const TrainOptions& options, const State* checkpoint = nullptr);
  Trainer(const Trainer&) = delete;  // the devices' replicas know the network by its address
  Trainer& operator=(const Trainer&) = delete;

  /// One step; false when the epoch has no more batches. Throws Failure(diverged) when the loss
  /// isn't finite (all is then what it was before the step), and data::SampleError.
  bool step();
  /// Whether step() ended with an error after it had its batch: state() is then of no step.
  bool in_step() const { return in_step_; }
  /// The validation loss and Dice of the weights as they are. `go_on` is asked after each batch;
  /// nothing when it says no.
  std::optional<Totals> validate(const std::function<bool(const Totals&)>& go_on = {});
  /// After the last step of an epoch and its validation.
  void end_epoch();

  const Segmenter& segmenter() const { return segmenter_; }
  /// The sums of this epoch's steps so far.
  const Totals& totals() const { return totals_; }
  int64_t epoch() const { return epoch_; }           // from 0
  int64_t steps() const { return steps_; }           // in all
  int64_t epoch_steps() const { return in_epoch_; }  // of this epoch so far
  int64_t steps_per_epoch() const { return loader_->size(); }
  double lr() const { return optimizer_->lr(); }
  RunTimes& times() { return times_; }
  const RunTimes& times() const { return times_; }
  data::StallAccount stall_account() const { return loader_->stall_account(); }
  int64_t train_size() const { return train_size_; }
  const data::Echo& validation() const { return *validation_; }
  /// What was left out of the tables of both splits, and the like.
  const std::vector<data::EchoFault>& notes() const { return notes_; }
  /// How the data aren't those of the checkpoint, or that it doesn't say; empty where they are.
  const std::string& changed_data() const { return changed_data_; }
  /// The first one: where the network lies.
  Device device() const { return devices_[0]; }
  const std::vector<Device>& devices() const { return devices_; }
  /// The samples of a step whose loss wasn't finite, and the network as it was before it.
  const State& replay() const { return replay_; }

  /// Everything that the next step depends on.
  State state() const;

 private:
  Tensor logits(const data::Batch& batch) const;
  void compare_data(const State& checkpoint);
  void restore(const State& state);
  /// Undoes what a forward has changed: the running statistics, the random numbers.
  void go_back();
  /// The first layer whose output isn't finite; empty when all are.
  std::string first_layer_not_finite(const data::Batch& batch);
  [[noreturn]] void diverge(const data::Batch& batch, double loss);

  TrainOptions options_;
  std::vector<Device> devices_;
  int64_t parts_ = 1;  // of the videos of a batch, that are normalised apart
  int64_t train_size_ = 0;
  std::shared_ptr<const data::Echo> validation_;
  std::vector<data::EchoFault> notes_;
  State data_;  // data_facts() of train and val
  std::string changed_data_;
  Segmenter segmenter_;
  std::unique_ptr<nn::DataParallel<nn::AnyModule>> parallel_;  // of several devices
  std::unique_ptr<optim::Optimizer> optimizer_;
  Schedule schedule_;
  std::unique_ptr<data::DataLoader> loader_, validation_loader_;
  std::optional<data::DataLoader::Iterator> batches_;
  Totals totals_;
  RunTimes times_;
  int64_t epoch_ = 0, steps_ = 0, in_epoch_ = 0;
  bool in_step_ = false;
  struct {
    std::vector<Tensor> buffers;
    GeneratorState random;
  } before_;  // the present step
  State replay_;
};

/// How many parts of a batch are normalised apart: --batch_parts, or one a device. Throws
/// Failure(usage) where they don't divide.
int64_t batch_parts_of(const TrainOptions& options);

/// A batch of echo_frames() and what the network and its loss are given, each written once where
/// the batch lies:
///   "input"   f32 (2 B, 3, H, W), channels_last, normalised: ends of diastole, then of systole
///   "truth"   f32 (2 B, H, W), 1 inside of the traces
data::Batch with_inputs(const data::Batch& batch, const Segmenter& segmenter);
/// EchoNet's samples of a split: Filename, LargeFrame, SmallFrame, LargeTrace, SmallTrace, EF.
/// Throws Failure(data).
std::shared_ptr<const data::Echo> echo_frames(const std::string& data_dir, data::EchoSplit split);
/// EchoNet's mean and standard deviation of pixels: of clips of 16 frames, 2 apart, of 128 videos
/// of TRAIN. Throws Failure(data).
data::ChannelStatistics pixel_statistics(const std::string& data_dir, uint64_t seed);

}  // namespace aorta::echo
