#pragma once

#include <aorta/apps/echo/training_loop.h>
#include <aorta/apps/echo/video/regressor.h>
#include <aorta/apps/echo/video/video_options.h>

namespace aorta::echo {

/// How far a phase of an epoch was off, in the task's unit.
struct ClipErrors {
  double mae = 0;
  double r2 = 0;  // NaN where all that was told is equal
};
/// The errors of a ClipTrainer's totals.
ClipErrors errors_of(const Totals& totals);

/// Training of a regressor: a clip of each video from a random place, padded with 12 pixels and cut
/// back at a random place, and the mean squared error of its value, as EchoNet trains.
class ClipTrainer : public TrainingLoop {
 public:
  /// As Trainer's.
  explicit ClipTrainer(const VideoOptions& options, const State* checkpoint = nullptr);

  const Regressor& regressor() const { return regressor_; }
  State network_state() const override { return regressor_.state(); }
  const nn::AnyModule& net() const override { return regressor_.net; }
  const std::vector<Score>& scores() const override;

 protected:
  std::pair<std::string, std::string> tensors_of_a_step() const override {
    return {"input", regressor_.task};
  }
  Tensor output(const data::Batch& batch) const override;
  Tensor loss(const Tensor& output, const data::Batch& batch) const override;
  Tensor sums(const Tensor& output, const data::Batch& batch) const override;
  void count(const data::Batch& batch, double loss, Totals& totals) const override;
  void add_samples(const data::Batch& batch, State& replay) const override;

 private:
  Regressor regressor_;
};

/// A step on two small clips on a device, whose results are dropped: for choose_device().
void try_step(const VideoOptions& options, Device device);

/// Random clips of a split's videos and what is told of them: "video" u8 (3, T, H, W), "Filename"
/// and the task's column. `pad`: as EchoOptions::pad. Throws Failure(data).
std::shared_ptr<const data::Echo> echo_clips(const std::string& data_dir, data::EchoSplit split,
                                             const Regressor& regressor, int64_t pad);
/// The task's column of each video. Throws Failure(data).
std::vector<float> told_values(const std::string& data_dir, data::EchoSplit split,
                               const std::string& task);

}  // namespace aorta::echo
