#include <aorta/aorta.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/run.h>
#include <aorta/apps/echo/run_space.h>
#include <aorta/apps/echo/video/clip_report.h>
#include <aorta/apps/echo/video/video.h>

#include <fmt/format.h>

namespace aorta::echo {
namespace {

/// A run whose network tells a number of clips.
class VideoJob : public Job {
 public:
  explicit VideoJob(const VideoOptions& options) : options_(options) {}

  const RunOptions& options() const override { return options_; }
  const char* command() const override { return "video"; }
  std::string args() const override { return args_yaml(options_); }
  void check_data() const override {
    // Before the pixels are looked at, which takes longer.
    if (!options_.resume && options_.pretrained && options_.weights.empty())
      pretrained_weights(options_.model_name);
    if (options_.run_test)
      with_code(ExitCode::data,
                [&] { whole_videos(options_.data_dir, data::EchoSplit::test, options_.task); });
  }
  void begin(const State* checkpoint) override { trainer_.emplace(options_, checkpoint); }
  TrainingLoop& loop() override { return *trainer_; }
  int64_t bytes() override { return run_bytes(options_, *trainer_); }

  std::string status(const Totals& totals) const override {
    return fmt::format("loss {:.2f} mae {:.2f}", totals.mean_loss(), errors_of(totals).mae);
  }
  std::string summary(const Totals& train, const Totals& validation) const override {
    const ClipErrors found = errors_of(validation);
    return fmt::format("loss {:.2f} mae {:.2f}  val loss {:.2f} mae {:.2f} r2 {}",
                       train.mean_loss(), errors_of(train).mae, validation.mean_loss(), found.mae,
                       agreement_text("{:.3f}", found.r2));
  }
  std::vector<Figure> figures(const History& history) const override {
    return {{"curves.svg", loss_curves(history, "mean squared error"),
             "Mean squared error of a clip of each video, each epoch."},
            {"mae.svg", error_curves(history, options_.task),
             "Mean absolute error of a clip of each video, each epoch."}};
  }

  void evaluate(const RunFolder& folder, Console& console,
                const std::function<std::function<void(int64_t, int64_t)>(const std::string&)>&
                    shown) override {
    const Regressor best = with_code(ExitCode::data, [&] { return load_regressor(folder.path()); });
    best.net->to(
        ToOptions{.device = trainer_->device(), .memory_format = MemoryFormat::channels_last});
    std::vector<data::EchoSplit> splits = {data::EchoSplit::val};
    if (options_.run_test) splits.push_back(data::EchoSplit::test);
    for (const data::EchoSplit split : splits) {
      const ClipEvaluationSettings settings{
          .batch_size = options_.batch_size,
          .num_workers = options_.num_workers,
          .timeout = options_.timeout,
          .pin_memory = options_.pin_memory,
          .seed = options_.seed,
          .progress = shown("evaluate " + data::to_string(split))};
      evaluations_.push_back(with_code(ExitCode::data, [&] {
        return evaluate_clips(best, options_.data_dir, split, settings);
      }));
      write_clip_evaluation(evaluations_.back(), folder.path());
      console.line(to_string(evaluations_.back()));
    }
    console.line(last_line(evaluations_.back()));
  }

  void write_report(const RunFolder& folder, const History& history) override {
    write_clip_report(folder, options_, history, figures(history), *trainer_, evaluations_);
  }

 private:
  VideoOptions options_;
  std::optional<ClipTrainer> trainer_;
  std::vector<ClipEvaluation> evaluations_;
};

}  // namespace

int train_on_clips(VideoOptions options) {
  if (options.output.empty())
    options.output = fmt::format("output/video/{}_{}_{}_{}", options.model_name, options.frames,
                                 options.period, options.pretrained ? "pretrained" : "random");
  check_run_options(options);
  with_code(ExitCode::usage,
            [&] { check_regressor(options.model_name, options.frames, options.period); });
  VideoJob job(options);
  return run(job);
}

}  // namespace aorta::echo
