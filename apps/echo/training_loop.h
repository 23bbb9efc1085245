#pragma once

#include <aorta/apps/echo/run_options.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/images/statistics.h>
#include <aorta/data/loader.h>
#include <aorta/nn/module.h>
#include <aorta/optim/scheduler.h>
#include <aorta/optim/zero_redundancy.h>

#include <functional>
#include <utility>

namespace aorta::echo {

/// A phase of an epoch so far.
struct Totals {
  double loss = 0;    // sum over `count`
  int64_t count = 0;  // pixels, or videos
  int64_t samples = 0;
  std::vector<double> sums;  // what the scores are made of
  double seconds = 0;

  double mean_loss() const { return loss / static_cast<double>(count); }
  /// Adds another's, but for the time.
  void add(const Totals& other);
};

/// A number that says how good a phase of an epoch was, beside the loss.
struct Score {
  const char* column;  // of log.csv
  const char* tag;     // of TensorBoard
  const char* title;   // of a table's column
  std::function<double(const Totals&)> value;
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

/// A learning rate schedule and when it steps.
struct Schedule {
  std::unique_ptr<optim::LRScheduler> schedule;
  bool every_step = false;  // else every epoch
};

/// Training without files, a step at a time: loaders, optimizer, schedule, and everything that
/// stops and goes on. What is learnt, from what samples and by which loss, is a derived class's.
///
/// Of several processes (ranks.h) each takes its part of every batch, and each N-th batch of a
/// validation; all make the same calls. Totals and state() are the same in each, so that any
/// number of processes can go on from it.
class TrainingLoop {
 public:
  virtual ~TrainingLoop() = default;
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  /// One step; false when the epoch has no more batches. Throws Failure(diverged) when the loss
  /// isn't finite (the network is then what it was before the step), and data::SampleError.
  bool step();
  /// Whether step() ended with an error after it had its batch: state() is then of no step.
  bool in_step() const { return in_step_; }
  /// The loss and the scores of the weights as they are, on VAL. `go_on` is asked after each
  /// batch; nothing when it says no.
  std::optional<Totals> validate(const std::function<bool(const Totals&)>& go_on = {});
  /// After the last step of an epoch and its validation; one of pre-training has none. After the
  /// last of these optimizer and schedule begin anew.
  void end_epoch();
  /// The signal that asked this process to end, or any of several, as they agreed behind the last
  /// step or batch of a validation; 0: none.
  int stop_signal() const;
  /// The first rank's wish to save, which all hear of with the next step.
  void wish_to_save(bool wish) { wishes_to_save_ = wish; }
  bool save_is_wished() const { return save_is_wished_; }

  /// What the weights are written as: the network and what its input is normalised with.
  virtual State network_state() const = 0;
  virtual const nn::AnyModule& net() const = 0;
  virtual const std::vector<Score>& scores() const = 0;

  /// The sums of this epoch's steps so far.
  const Totals& totals() const { return totals_; }
  int64_t epoch() const { return epoch_; }  // from 0, those of pre-training not among them
  int64_t pretrained() const { return pretrained_; }  // epochs of it that are through
  /// Whether the present epoch is one of pre-training, whose totals have no scores.
  bool pretraining() const { return pretrained_ < options_.pretrain_epochs.value_or(0); }
  int64_t steps() const { return steps_; }           // in all
  int64_t epoch_steps() const { return in_epoch_; }  // of this epoch so far
  int64_t steps_per_epoch() const { return loader_->size(); }
  /// For how long backward passes have waited for other processes.
  virtual double waited_seconds() const { return 0; }
  /// Why several processes are slower than one, where a step of each takes so long to compute;
  /// empty where they aren't.
  virtual std::string why_ranks_are_slow(double) const { return ""; }
  double lr() const { return optimizer().lr(); }
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
  /// "cuda:0,cuda:1".
  std::string device_names() const;
  /// The samples of a step whose loss wasn't finite, and the network as it was before it.
  const State& replay() const { return replay_; }

  /// Everything that the next step depends on; of several processes in the first one. All call it.
  State state() const;

 protected:
  TrainingLoop(const RunOptions& options, std::vector<Device> devices);

  /// The samples of a run.
  struct Data {
    std::shared_ptr<const data::Echo> train, validation;
    /// What is done to the chosen videos of `train`; nothing where it is empty.
    std::function<std::shared_ptr<const data::Dataset>(std::shared_ptr<const data::Dataset>)>
        augment;
    /// What a batch becomes where the network lies.
    std::function<data::Batch(const data::Batch&)> prepare;
    /// What a run's numbers depend on of a split (data_facts.h), and what its facts are called.
    std::function<State(const data::Echo&)> facts;
    std::string fact;
  };
  /// The last part of a derived class's constructor, when net() is there.
  void begin(Data data, const State* checkpoint);

  /// The names of the tensors of a batch that output() and loss() read.
  virtual std::pair<std::string, std::string> tensors_of_a_step() const = 0;
  /// The network's output, with a graph where one is recorded.
  virtual Tensor output(const data::Batch& batch) const = 0;
  /// The numbers of output() on one device, where layers run one after another.
  virtual Tensor output_of_one_device(const data::Batch& batch) { return output(batch); }
  /// What a step descends.
  virtual Tensor loss(const Tensor& output, const data::Batch& batch) const = 0;
  /// What Totals::sums holds, f64 (N), where the output lies; in pre-training none (0).
  virtual Tensor sums(const Tensor& output, const data::Batch& batch) const = 0;
  /// Adds a batch's loss, and how many there are.
  virtual void count(const data::Batch& batch, double loss, Totals& totals) const = 0;
  /// The samples of a step that diverged.
  virtual void add_samples(const data::Batch& batch, State& replay) const = 0;

 private:
  /// Makes the optimizer and the schedule of the present epochs.
  void begin_steps();
  /// Forward, backward and, where the loss is finite, update: the output's sums() and the loss. On
  /// one GPU they are a graph from the third step on, and the host has nothing to do meanwhile.
  std::vector<Tensor> learn(const data::Batch& batch);
  std::vector<Tensor> learn_on_device(const data::Batch& batch);
  Totals totals_of(const Tensor& sums, double loss, const data::Batch& batch) const;
  /// Throws where it isn't finite, and the network is as it was before the step.
  double finite_loss(const Tensor& loss, const data::Batch& batch);
  const optim::Optimizer& optimizer() const { return sharded_ ? sharded_->own() : *optimizer_; }
  Tensor computed(const data::Batch& batch) const;
  data::DataLoaderOptions loader_options(
      const std::function<data::Batch(const data::Batch&)>& prepare, int64_t size,
      bool training) const;
  /// Adds what all ranks have counted to `totals`, and agrees on what is wished.
  void add_of_all_ranks(const Totals& mine, Totals& totals);
  State loader_state() const;
  void restore_loader(const State& state);
  void compare_data(const State& checkpoint, const std::string& fact);
  void restore(const State& state);
  /// Undoes what a forward has changed: the running statistics, the random numbers.
  void go_back();
  /// The first layer whose output isn't finite; empty when all are.
  std::string first_layer_not_finite(const data::Batch& batch);
  [[noreturn]] void diverge(const data::Batch& batch, double loss);

  RunOptions options_;
  std::vector<Device> devices_;
  int64_t train_size_ = 0;
  std::shared_ptr<const data::Echo> validation_;
  std::vector<data::EchoFault> notes_;
  State data_;  // the facts of train and val
  std::string changed_data_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::ZeroRedundancyOptimizer> sharded_;  // instead, in several processes
  Schedule schedule_;
  std::unique_ptr<data::DataLoader> loader_, validation_loader_;
  std::optional<data::DataLoader::Iterator> batches_;
  Totals totals_;
  RunTimes times_;
  int64_t epoch_ = 0, pretrained_ = 0, steps_ = 0, in_epoch_ = 0;
  bool in_step_ = false;
  int stop_signal_ = 0;
  bool wishes_to_save_ = false, save_is_wished_ = false;
  using Learn = std::function<std::vector<Tensor>(const Tensor&, const Tensor&)>;
  std::optional<Captured<Learn>> captured_;
  struct {
    std::vector<Tensor> buffers;
    GeneratorState random;
  } before_;  // the present step
  State replay_;
};

/// The longer edge of the frames of a data set, in pixels.
int64_t longer_edge(const data::Echo& videos);

/// EchoNet's mean and standard deviation of pixels: of clips of 16 frames, 2 apart, of 128 videos
/// of TRAIN. Throws Failure(data).
data::ChannelStatistics pixel_statistics(const std::string& data_dir, uint64_t seed);

}  // namespace aorta::echo
