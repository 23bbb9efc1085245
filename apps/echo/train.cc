#include <aorta/aorta.h>
#include <aorta/apps/echo/console.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/run_report.h>
#include <aorta/apps/echo/run_space.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/train.h>
#include <aorta/core/clock.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

namespace aorta::echo {
namespace {

std::string default_output(const TrainOptions& options) {
  return "output/segmentation/" + options.model_name +
         (options.pretrained ? "_pretrained" : "_random");
}

/// Complete options, checked as far as they can be without the data.
TrainOptions checked(TrainOptions options) {
  if (options.output.empty()) options.output = default_output(options);
  if (options.resume && options.overwrite)
    throw Failure(ExitCode::usage,
                  "--resume: goes on with the run that --overwrite replaces, got both");
  if (options.allow_changed_data && !options.resume)
    throw Failure(ExitCode::usage, "--allow_changed_data: goes with --resume, got none");
  if (options.resume) check_holds_a_run(options.output);
  if (options.resume && options.data_dir.empty() && !is_there(options.output + "/args.yaml"))
    throw Failure(ExitCode::environment,
                  options.output +
                      "/args.yaml: --resume needs it, or the flags that the run began "
                      "with, got no such file and no --data_dir");
  options.data_dir = data_folder(options.data_dir);
  check_not_negative("--num_epochs", options.num_epochs);
  check_workers("--num_workers", options.num_workers);
  if (options.max_steps) check_positive("--max_steps", *options.max_steps);
  // Kept with the run: resumed on other devices it goes on with the same numbers.
  const int64_t parts = batch_parts_of(options);
  if (!options.devices.empty()) options.batch_parts = parts;
  check_positive("--save_every", options.save_every);
  check_not_negative("--timeout", options.timeout);
  return options;
}

int64_t parameter_count(const nn::Module& net) {
  int64_t count = 0;
  for (const Tensor& parameter : net.parameters()) count += parameter.numel();
  return count;
}

/// "cuda:0,cuda:1".
std::string device_names(const Trainer& trainer) {
  std::string names;
  for (const Device device : trainer.devices())
    names += (names.empty() ? "" : ",") + to_string(device);
  return names;
}

/// Since the process began, in seconds.
double process_seconds() {
  std::ifstream status("/proc/self/stat"), uptime("/proc/uptime");
  std::string text;
  std::getline(status, text);
  // Field 22, in ticks since the machine started; field 2, the name, may hold spaces.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 2, text.size())));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double started = 0, now = 0;
  fields >> started;
  uptime >> now;
  return now - started / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// A run: a trainer in its folder.
class Run {
 public:
  explicit Run(const TrainOptions& options)
      : options_(options),
        folder_(options.output, options.resume, options.overwrite),
        console_(folder_.file("train.log"), options.quiet) {
    std::string note;
    State checkpoint;
    if (options.resume) checkpoint = folder_.load_checkpoint(note);
    const bool begun = !checkpoint.empty();
    if (begun) check_resumable(checkpoint.get<std::string>("run.args"), args_yaml(options));
    // What is evaluated at the end must be sound before the first step.
    if (options.run_test || options.save_video)
      echo_frames(options.data_dir, data::EchoSplit::test);
    trainer_.emplace(options, begun ? &checkpoint : nullptr);
    if (begun) history_.restore(checkpoint.with_prefix("history."));
    if (begun) finished_ = checkpoint.get<bool>("progress.finished") && at_last_step();
    if (begun) restore_times(checkpoint);
    folder_.check_space(run_bytes(options, *trainer_));
    folder_.begin();
    folder_.write("args.yaml", args_yaml(options));
    records_.emplace(folder_, console_, begun ? &checkpoint : nullptr);
    if (begun) records_->write_history(history_);
    say_what(note, begun);
  }

  int go() {
    while (!is_complete()) {
      const int64_t epoch = trainer_->epoch();
      const std::string shown = label("train");
      if (!train_phase()) return stop();
      const Totals train = trainer_->totals();
      const std::optional<Totals> validation = validation_phase();
      if (!validation) return stop();
      end_epoch(train, *validation);
      console_.line(fmt::format(
          "{} loss {:.4f} dice {:.4f}  val loss {:.4f} dice {:.4f} (large "
          "{:.4f} small {:.4f})  {:.1f} s{}",
          shown, train.mean_loss(), train.dice(), validation->mean_loss(), validation->dice(),
          validation->large.dice(), validation->small.dice(), train.seconds + validation->seconds,
          history_.best_epoch() == epoch ? "  * best" : ""));
      // What tools/bench/echo.py pools over folds.
      console_.note(fmt::format(
          "  pixels of validation: {} in the network's mask and the tracing's, {} in either",
          validation->large.intersection + validation->small.intersection,
          validation->large.either + validation->small.either));
      if (interrupted() && !is_complete()) return stop();
    }
    return finish();
  }

 private:
  void say_what(const std::string& note, bool begun) {
    const Segmenter& segmenter = trainer_->segmenter();
    console_.line(fmt::format(
        "aorta-echo · {} ({:.1f} M parameters) · {} · {} · seed {}", segmenter.model_name,
        static_cast<double>(parameter_count(*segmenter.net)) / 1e6, device_names(*trainer_),
        options_.amp ? "bf16" : "f32", options_.seed));
    console_.line(fmt::format("data   {}: {} train, {} val", options_.data_dir,
                              trainer_->train_size(), trainer_->validation().size()));
    const auto& notes = trainer_->notes();
    if (!notes.empty())
      console_.warn(data::to_string(notes[0]) +
                    (notes.size() > 1 ? fmt::format(", and {} more", notes.size() - 1) : "") +
                    "; `aorta-echo data check` lists what is amiss");
    console_.line("output " + folder_.path());
    if (!note.empty()) console_.warn(note);
    const std::string why_cpu =
        options_.devices.empty() ? device_note(options_.device) : std::string();
    if (!why_cpu.empty()) console_.line(why_cpu);
    if (!trainer_->changed_data().empty()) console_.warn(trainer_->changed_data());
    if (begun && is_complete())
      console_.line(fmt::format("resume the run is complete, epoch {} of {}; it is evaluated again",
                                trainer_->epoch(), options_.num_epochs));
    else if (begun)
      console_.line(fmt::format("resume epoch {}, step {} of {}, {} steps done",
                                trainer_->epoch() + 1, trainer_->epoch_steps(),
                                trainer_->steps_per_epoch(), trainer_->steps()));
    else if (options_.resume)
      console_.line("resume the run had no checkpoint yet: it starts anew");
  }

  bool is_complete() const { return finished_ || trainer_->epoch() >= options_.num_epochs; }

  bool at_last_step() const {
    return options_.max_steps && trainer_->steps() >= *options_.max_steps;
  }

  /// The steps of an epoch; false when a signal came.
  bool train_phase() {
    report::ProgressBar& bar = console_.bar();
    bar.start(label("train"), trainer_->steps_per_epoch(), trainer_->epoch_steps());
    while (!at_last_step() && !interrupted() && step()) {
      bar.update(trainer_->epoch_steps(), status(trainer_->totals()));
      if (std::exchange(first_step_, false)) note_first_step();
      if (options_.profile) profile();
      if (seconds_now() - saved_ >= 60 * options_.save_every) save();
    }
    bar.end();
    return !interrupted();
  }

  void note_first_step() {
    const RunTimes& times = trainer_->times();
    const double seconds = times.forward + times.backward + times.update, end = process_seconds();
    console_.note(fmt::format("first step from {:.2f} to {:.2f} s", end - seconds, end));
  }

  std::optional<Totals> validation_phase() {
    report::ProgressBar& bar = console_.bar();
    bar.start(label("val"), trainer_->validation().size());
    const auto totals = data_errors([&] {
      return trainer_->validate([&](const Totals& now) {
        bar.update(now.samples, status(now));
        return interrupted() == 0;
      });
    });
    bar.end();
    return totals;
  }

  /// "epoch  3/50 train".
  std::string label(const char* phase) const {
    const std::string epochs = std::to_string(options_.num_epochs);
    return fmt::format("epoch {:>{}}/{} {}", trainer_->epoch() + 1, epochs.size(), epochs, phase);
  }
  /// Short enough for 80 columns.
  static std::string status(const Totals& totals) {
    return fmt::format("loss {:.4f} dice {:.3f} {}", totals.mean_loss(), totals.dice(),
                       report::size_text(static_cast<double>(report::resident_bytes())));
  }

  /// Looks at the second to the eleventh step.
  void profile() {
    ++profiled_;
    if (profiled_ == 1) profiler_.emplace();
    if (profiled_ == 11) write_profile();
  }

  void write_profile() {
    if (!profiler_) return;
    profiler_->stop();
    with_code(ExitCode::storage, [&] { profiler_->write_trace(folder_.file("trace.json")); });
    folder_.write("profile.txt", profiler_->table());
    profiler_.reset();
  }

  bool step() {
    try {
      return data_errors([&] { return trainer_->step(); });
    } catch (const Failure& failure) {
      if (failure.code() != ExitCode::diverged) throw;
      std::string replay = "replay.safetensors";
      folder_.save(trainer_->replay(), replay);
      throw Failure(ExitCode::diverged, std::string(failure.what()) + "; " + folder_.file(replay) +
                                            " holds the batch and the weights");
    }
  }

  /// Runs what reads samples. When one can't be read, what was learnt is kept.
  template <class Read>
  std::invoke_result_t<Read> data_errors(Read&& read) {
    try {
      return read();
    } catch (const Failure&) {
      throw;
    } catch (const Error& error) {
      std::string text = error.what();
      try {
        if (!trainer_->in_step()) save();
      } catch (const Error& second) {
        text +=
            std::string("; what was learnt since the last checkpoint is lost: ") + second.what();
      }
      throw Failure(code_of(error, ExitCode::data), text);
    }
  }

  void end_epoch(const Totals& train, const Totals& validation) {
    const int64_t epoch = trainer_->epoch();
    // Before anything is saved: the weights are ruined.
    if (!std::isfinite(validation.mean_loss()))
      throw Failure(ExitCode::diverged,
                    fmt::format("the validation loss must be finite, got {} after step {} (epoch "
                                "{}); what was saved before is as it was",
                                std::isnan(validation.mean_loss()) ? "nan" : "inf",
                                trainer_->steps(), epoch + 1));
    const bool best = validation.mean_loss() < history_.best_loss();
    history_.rows.push_back(
        history_row(epoch, true, train, options_.batch_size, trainer_->device()));
    history_.rows.push_back(
        history_row(epoch, false, validation, options_.batch_size, trainer_->device()));
    if (at_last_step()) finished_ = true;
    if (best) {
      State state = trainer_->segmenter().state();
      state.set("best.epoch", epoch);
      state.set("best.loss", validation.mean_loss());
      state.set("best.dice", validation.dice());
      folder_.save(state, "best.safetensors");
    }
    records_->write_epoch(history_, *trainer_, trainer_->lr());
    trainer_->end_epoch();
    save();
  }

  void restore_times(const State& checkpoint) {
    for (const auto& [name, seconds] : kRunTimes) {
      const std::string key = std::string("times.") + name;
      if (checkpoint.contains(key)) trainer_->times().*seconds = checkpoint.get<double>(key);
    }
  }

  void save() {
    const double start = seconds_now();
    State state = trainer_->state();
    state.add("history.", history_.state());
    state.add("", records_->state());
    state.set("progress.finished", finished_);
    state.set("run.args", args_yaml(options_));
    for (const auto& [name, seconds] : kRunTimes)
      state.set(std::string("times.") + name, trainer_->times().*seconds);
    folder_.save(state, "checkpoint.safetensors", 1);
    saved_ = seconds_now();
    trainer_->times().save += saved_ - start;
  }

  /// How good the best weights are on VAL, what else was asked for of them, and the report.
  int finish() {
    write_profile();  // of fewer steps
    std::vector<Evaluation> evaluations;
    if (history_.rows.empty()) {  // --num_epochs 0: the weights that were given
      folder_.save(trainer_->segmenter().state(), "best.safetensors");
      save();
    }
    Segmenter best = with_code(ExitCode::data, [&] { return load_segmenter(folder_.path()); });
    best.net->to(
        ToOptions{.device = trainer_->device(), .memory_format = MemoryFormat::channels_last});
    const auto shown = [&](const std::string& label) {
      return progress_on(console_.bar(), label, "the training is saved; " + resume_command());
    };
    const double start = seconds_now();
    std::vector<data::EchoSplit> splits = {data::EchoSplit::val};
    if (options_.run_test) splits.push_back(data::EchoSplit::test);
    for (const data::EchoSplit split : splits) {
      const EvaluationSettings settings{.batch_size = options_.batch_size,
                                        .num_workers = options_.num_workers,
                                        .timeout = options_.timeout,
                                        .progress = shown("evaluate " + data::to_string(split))};
      evaluations.push_back(with_code(
          ExitCode::data, [&] { return evaluate(best, options_.data_dir, split, settings); }));
      write_evaluation(evaluations.back(), folder_.path());
      console_.line(to_string(evaluations.back()) + dice_line(evaluations.back()));
    }
    if (options_.save_video)
      segment_split(best, {.data_dir = options_.data_dir,
                           .output = folder_.path(),
                           .batch_size = options_.batch_size,
                           .progress = shown("segment test")});
    trainer_->times().evaluate = seconds_now() - start;
    with_code(ExitCode::storage,
              [&] { write_report(folder_, options_, history_, *trainer_, best, evaluations); });
    console_.line("report " + folder_.file("report.html"));
    return 0;
  }

  std::string resume_command() const {
    return "go on with: aorta-echo train --resume --output " + shell_quoted(folder_.path());
  }

  int stop() {
    save();
    console_.line(fmt::format("stopped by {} after step {} of epoch {}; everything is saved",
                              signal_name(interrupted()), trainer_->epoch_steps(),
                              trainer_->epoch() + 1));
    console_.line(resume_command());
    return 128 + interrupted();
  }

  TrainOptions options_;
  RunFolder folder_;
  Console console_;
  std::optional<Trainer> trainer_;
  History history_;
  std::optional<RunRecords> records_;
  std::optional<Profiler> profiler_;
  bool finished_ = false;  // --max_steps is reached
  bool first_step_ = true;
  int profiled_ = 0;
  double saved_ = seconds_now();
};

}  // namespace

int train(TrainOptions options) {
  catch_interrupts();
  return Run(checked(std::move(options))).go();
}

}  // namespace aorta::echo
