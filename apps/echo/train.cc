#include <aorta/aorta.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/mask_warning.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/apps/echo/run.h>
#include <aorta/apps/echo/run_report.h>
#include <aorta/apps/echo/run_space.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/train.h>

#include <aorta/core/io/bytes.h>
#include <fmt/format.h>

#include <limits>

namespace aorta::echo {
namespace {

/// A run whose network segments.
class SegmentationJob : public Job {
 public:
  explicit SegmentationJob(const TrainOptions& options) : options_(options) {}

  const RunOptions& options() const override { return options_; }
  const char* command() const override { return "train"; }
  std::string args() const override { return args_yaml(options_); }
  void check_data() const override {
    if (options_.run_test || options_.save_video)
      echo_frames(options_.data_dir, data::EchoSplit::test);
  }
  void begin(const State* checkpoint) override {
    trainer_.emplace(options_, checkpoint);
    if (!checkpoint) return;
    History before;
    for (const Score& score : trainer_->scores()) before.score_columns.push_back(score.column);
    before.restore(checkpoint->with_prefix("history."));
    for (const HistoryRow& row : before.rows) {
      if (row.training) loss_before_ = row.loss;
    }
  }
  TrainingLoop& loop() override { return *trainer_; }
  int64_t bytes() override { return run_bytes(options_, *trainer_); }

  std::string status(const Totals& totals) const override {
    return fmt::format("loss {:.4f} dice {:.3f}", totals.mean_loss(), overlaps_of(totals).dice());
  }
  std::string summary(const Totals& train, const Totals& validation) const override {
    const FrameOverlaps found = overlaps_of(validation);
    return fmt::format(
        "loss {:.4f} dice {:.4f}  val loss {:.4f} dice {:.4f} (large {:.4f} small {:.4f})",
        train.mean_loss(), overlaps_of(train).dice(), validation.mean_loss(), found.dice(),
        found.large.dice(), found.small.dice());
  }
  // What tools/bench/echo.py pools over folds.
  std::string note(const Totals& validation) const override {
    const FrameOverlaps found = overlaps_of(validation);
    return fmt::format(
        "  pixels of validation: {} in the network's mask and the tracing's, {} in either",
        found.large.intersection + found.small.intersection,
        found.large.either + found.small.either);
  }
  std::string warning(const Totals& train, const Totals& validation) override {
    const std::string text = mask_warning(train, validation, loss_before_, trainer_->lr());
    loss_before_ = train.mean_loss();
    return text;
  }
  std::vector<Figure> figures(const History& history) const override {
    return {
        {"curves.svg", loss_curves(history, "loss of a pixel"), "Loss of a pixel, each epoch."},
        {"dice.svg", dice_curves(history), "Dice of both frames, all pixels pooled, each epoch."}};
  }
  Tensor picture() const override { return sample_pictures(*trainer_, 4); }

  void evaluate(const RunFolder& folder, Console& console,
                const std::function<std::function<void(int64_t, int64_t)>(const std::string&)>&
                    shown) override {
    best_ = with_code(ExitCode::data, [&] { return load_segmenter(folder.path()); });
    best_->net->to(
        ToOptions{.device = trainer_->device(), .memory_format = MemoryFormat::channels_last});
    std::vector<data::EchoSplit> splits = {data::EchoSplit::val};
    if (options_.run_test) splits.push_back(data::EchoSplit::test);
    for (const data::EchoSplit split : splits) {
      const EvaluationSettings settings{.batch_size = options_.batch_size,
                                        .num_workers = options_.num_workers,
                                        .timeout = options_.timeout,
                                        .pin_memory = options_.pin_memory,
                                        .progress = shown("evaluate " + data::to_string(split))};
      evaluations_.push_back(with_code(ExitCode::data, [&] {
        return echo::evaluate(*best_, options_.data_dir, split, settings);
      }));
      write_evaluation(evaluations_.back(), folder.path());
      console.line(to_string(evaluations_.back()) + ef_line(evaluations_.back()) + "\n" +
                   dice_line(evaluations_.back()));
    }
    if (options_.save_video)
      segment_split(*best_, {.data_dir = options_.data_dir,
                             .output = folder.path(),
                             .batch_size = options_.batch_size,
                             .progress = shown("segment test")});
  }

  void write_report(const RunFolder& folder, const History& history) override {
    echo::write_report(folder, options_, history, figures(history), *trainer_,
                       {*best_, evaluations_});
  }

 private:
  TrainOptions options_;
  std::optional<Trainer> trainer_;
  double loss_before_ = std::numeric_limits<double>::quiet_NaN();  // of the last epoch's training
  std::optional<Segmenter> best_;
  std::vector<Evaluation> evaluations_;
};

/// Throws Failure(usage) for options that the network doesn't have.
void check_clip_options(const TrainOptions& options) {
  const auto check_goes = [&](const char* flag, const std::optional<int64_t>& value) {
    if (value && !takes_clips(options.model_name))
      throw Failure(ExitCode::usage,
                    fmt::format("{}: goes with --model_name unet_3d, got {} for {}", flag, *value,
                                io::quote(options.model_name)));
  };
  check_goes("--frames", options.frames);
  check_goes("--period", options.period);
  check_goes("--pretrain_epochs", options.pretrain_epochs);
  check_not_negative("--pretrain_epochs", options.pretrain_epochs.value_or(0));
}

}  // namespace

int train(TrainOptions options) {
  if (options.output.empty())
    options.output = "output/segmentation/" + options.model_name +
                     (options.pretrained ? "_pretrained" : "_random");
  check_run_options(options);
  check_clip_options(options);
  // Kept with the run: resumed on other devices, or by more or fewer processes, it goes on with the
  // same numbers.
  const int64_t parts = batch_parts_of(options);
  if (!options.devices.empty() || rank_count() > 1) options.batch_parts = parts;
  check_not_negative("--rank_timeout", options.rank_timeout);
  if (Communicator* group = rank_group()) group->set_timeout(options.rank_timeout);
  SegmentationJob job(options);
  return run(job);
}

}  // namespace aorta::echo
