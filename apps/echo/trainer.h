#pragma once

#include <aorta/apps/echo/measure/dice.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/apps/echo/train_options.h>
#include <aorta/apps/echo/training_loop.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/scaling.h>

namespace aorta::echo {

/// The overlaps that a phase of an epoch has counted, in the frames of each kind and in both.
struct FrameOverlaps {
  Overlap large, small;

  double dice() const;
};
/// The overlaps of a Trainer's totals.
FrameOverlaps overlaps_of(const Totals& totals);

/// How many pixels the network marked, how many lie in the tracings, and how many there were.
struct MarkedPixels {
  double found = 0, traced = 0, all = 0;
};
/// The pixels of a Trainer's totals.
MarkedPixels marked_pixels(const Totals& totals);

/// Training of a segmenter.
///
/// The two passes of a step, end of diastole and of systole, run as one batch whose batch
/// normalisation has two groups of statistics: the numbers are those of two passes whose losses are
/// added and halved. The loss is that of a pixel, mean of both passes. With --devices,
/// in several processes or with --batch_parts each of P parts of the videos has two groups of its
/// own: on P devices, on fewer, or on one, the numbers are the same up to rounding, but for the
/// running statistics, which are those of the first device's parts.
///
/// A network of clips is given one of each video, around a traced frame: those that the clip has
/// are all that its loss sees, and each counts as a pass's half does. Of its parts each has one
/// group of statistics. In epochs of pre-training, frames drawn at random, three of five on
/// average, are zeros (the mean colour) in what it sees, and the loss is the squared error of all
/// pixels, their three channels' mean, which its logits are to be; of a pixel, too.
class Trainer : public TrainingLoop {
 public:
  /// Goes on from `checkpoint`, the state() of a trainer with the same options, where one is given.
  /// Throws Failure(data) where its data were others, unless options.allow_changed_data.
  explicit Trainer(const TrainOptions& options, const State* checkpoint = nullptr);

  const Segmenter& segmenter() const { return segmenter_; }
  State network_state() const override { return segmenter_.state(); }
  const nn::AnyModule& net() const override { return segmenter_.net; }
  const std::vector<Score>& scores() const override;

 protected:
  std::pair<std::string, std::string> tensors_of_a_step() const override {
    return {"input", "truth"};
  }
  Tensor output(const data::Batch& batch) const override;
  Tensor output_of_one_device(const data::Batch& batch) override;
  Tensor loss(const Tensor& output, const data::Batch& batch) const override;
  Tensor sums(const Tensor& output, const data::Batch& batch) const override;
  void count(const data::Batch& batch, double loss, Totals& totals) const override;
  void add_samples(const data::Batch& batch, State& replay) const override;

  double waited_seconds() const override {
    return distributed_ ? distributed_->waited_seconds() : 0;
  }
  std::string why_ranks_are_slow(double compute_seconds) const override;

 private:
  int64_t statistic_groups() const;

  int64_t parts_ = 1;  // of this process's videos of a batch, that are normalised apart
  Segmenter segmenter_;
  std::unique_ptr<nn::DataParallel<nn::AnyModule>> parallel_;                // of several devices
  std::unique_ptr<nn::DistributedDataParallel<nn::AnyModule>> distributed_;  // of several processes
  nn::RankedStep ranked_;  // what their exchange takes
};

/// How many parts of a batch are normalised apart: --batch_parts, or one a device or process.
/// Throws Failure(usage) where they don't divide.
int64_t batch_parts_of(const TrainOptions& options);

/// A step on two small videos on a device, whose results are dropped: for choose_device().
void try_step(const TrainOptions& options, Device device);

/// A batch of echo_frames() and what the network and its loss are given, each written once where
/// the batch lies:
///   "input"   what with_input() adds (segmenter.h)
///   "truth"   f32 (2 B, H, W), 1 inside of the traces
data::Batch with_inputs(const data::Batch& batch, const Segmenter& segmenter);
/// EchoNet's samples of a split: Filename, LargeFrame, SmallFrame, LargeTrace, SmallTrace, EF. For
/// a segmenter that takes clips, frames are clips. Throws Failure(data).
std::shared_ptr<const data::Echo> echo_frames(const std::string& data_dir, data::EchoSplit split,
                                              const Segmenter* segmenter = nullptr);

}  // namespace aorta::echo
