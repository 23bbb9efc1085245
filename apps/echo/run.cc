#include <aorta/aorta.h>
#include <aorta/apps/echo/background_writer.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/apps/echo/run.h>
#include <aorta/apps/echo/run_records.h>
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

int64_t parameter_count(const nn::Module& net) {
  int64_t count = 0;
  for (const Tensor& parameter : net.parameters()) count += parameter.numel();
  return count;
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

/// The state as it is now, wherever its tensors lie.
State on_host(const State& state) {
  State copy;
  for (const auto& [name, tensor] : state.tensors()) copy.set(name, tensor.cpu());
  for (const auto& [name, value] : state.values()) copy.set(name, value);
  return copy;
}

/// A run: a job in its folder. Of several processes the first one has the folder and the console,
/// and the others compute.
class Run {
 public:
  explicit Run(Job& job)
      : job_(job),
        options_(job.options()),
        folder_(options_.output, options_.resume, options_.overwrite, is_first_rank()),
        console_(is_first_rank() ? folder_.file("train.log") : "", options_.quiet) {
    check_same_settings(job.args());
    std::string note;
    State checkpoint;
    if (options_.resume) checkpoint = folder_.load_checkpoint(note);
    const bool begun = !checkpoint.empty();
    if (begun) check_resumable(checkpoint.get<std::string>("run.args"), job.args());
    // What is evaluated at the end must be sound before the first step.
    job.check_data();
    job.begin(begun ? &checkpoint : nullptr);
    for (const Score& score : loop().scores()) history_.score_columns.push_back(score.column);
    if (begun) history_.restore(checkpoint.with_prefix("history."));
    if (begun) finished_ = checkpoint.get<bool>("progress.finished");
    if (finished_) check_goes_on();
    if (begun) restore_times(checkpoint);
    folder_.check_space(job.bytes());
    folder_.begin();
    folder_.write("args.yaml", job.args());
    if (is_first_rank()) records_.emplace(folder_, console_, begun ? &checkpoint : nullptr);
    if (begun && records_) records_->write_history(history_, job_);
    say_what(note, begun);
  }

  int go() {
    try {
      return train();
    } catch (...) {
      write_rank_records(folder_.path());
      throw;
    }
  }

 private:
  /// What --max_steps has ended inside of an epoch was evaluated as an epoch: its rest can't
  /// follow.
  void check_goes_on() {
    finished_ = at_last_step();
    if (!finished_ && loop().steps() % loop().steps_per_epoch() != 0)
      throw Failure(ExitCode::usage,
                    fmt::format("--resume: a run that --max_steps has ended inside of an epoch has "
                                "no more steps, got {} of {} steps an epoch",
                                loop().steps(), loop().steps_per_epoch()));
  }

  int train() {
    while (!is_complete()) {
      const int64_t epoch = loop().epoch();
      const std::string shown = label("train");
      if (!train_phase()) return stop();
      const Totals train = loop().totals();
      if (loop().pretraining()) {
        end_pretraining_epoch();
        console_.line(fmt::format("{} squared error of a pixel {:.4f}  {:.1f} s", shown,
                                  train.mean_loss(), train.seconds));
        if (loop().stop_signal() && !is_complete()) return stop();
        continue;
      }
      const std::optional<Totals> validation = validation_phase();
      if (!validation) return stop();
      end_epoch(train, *validation);
      console_.line(fmt::format("{} {}  {:.1f} s{}", shown, job_.summary(train, *validation),
                                train.seconds + validation->seconds,
                                history_.best_epoch() == epoch ? "  * best" : ""));
      if (const std::string note = job_.note(*validation); !note.empty()) console_.note(note);
      if (const std::string text = job_.warning(train, *validation); !text.empty())
        console_.warn(text);
      if (loop().stop_signal() && !is_complete()) return stop();
    }
    return finish();
  }

  TrainingLoop& loop() { return job_.loop(); }
  const TrainingLoop& loop() const { return job_.loop(); }

  void say_what(const std::string& note, bool begun) {
    console_.line(fmt::format("aorta-echo · {} ({:.1f} M parameters) · {} · {} · seed {}",
                              options_.model_name,
                              static_cast<double>(parameter_count(*loop().net())) / 1e6,
                              loop().device_names(), options_.amp ? "bf16" : "f32", options_.seed));
    if (rank_count() > 1)
      console_.line(fmt::format("ranks  {} processes, {} videos of each step in each", rank_count(),
                                options_.batch_size / rank_count()));
    console_.line(fmt::format("data   {}: {} train, {} val", options_.data_dir, loop().train_size(),
                              loop().validation().size()));
    const auto& notes = loop().notes();
    if (!notes.empty())
      console_.warn(data::to_string(notes[0]) +
                    (notes.size() > 1 ? fmt::format(", and {} more", notes.size() - 1) : "") +
                    "; `aorta-echo data check` lists what is amiss");
    console_.line("output " + folder_.path());
    if (!note.empty()) console_.warn(note);
    if (!loop().changed_data().empty()) console_.warn(loop().changed_data());
    if (begun && is_complete())
      console_.line(fmt::format("resume the run is complete, epoch {} of {}; it is evaluated again",
                                loop().epoch(), options_.num_epochs));
    else if (begun)
      console_.line(fmt::format("resume {}, step {} of {}, {} steps done", epoch_text(),
                                loop().epoch_steps(), loop().steps_per_epoch(), loop().steps()));
    else if (options_.resume)
      console_.line("resume the run had no checkpoint yet: it starts anew");
  }

  bool is_complete() const {
    return finished_ || (!loop().pretraining() && loop().epoch() >= options_.num_epochs);
  }

  bool at_last_step() const { return options_.max_steps && loop().steps() >= *options_.max_steps; }

  /// The steps of an epoch; false when a signal came.
  bool train_phase() {
    report::ProgressBar& bar = console_.bar();
    bar.start(label("train"), loop().steps_per_epoch(), loop().epoch_steps());
    while (!at_last_step() && !loop().stop_signal() && step()) {
      bar.update(loop().epoch_steps(), status(loop().totals()));
      if (std::exchange(first_step_, false)) note_first_step();
      if (rank_count() > 1 && stepped_ < kSteps) look_at_ranks();
      if (options_.profile) profile();
      const bool due = seconds_now() - saved_ >= 60 * options_.save_every;
      loop().wish_to_save(due);
      if (rank_group() ? loop().save_is_wished() : due) save();
    }
    bar.end();
    return !loop().stop_signal();
  }

  void note_first_step() {
    const RunTimes& times = loop().times();
    const double seconds = times.forward + times.backward + times.update, end = process_seconds();
    console_.note(fmt::format("first step from {:.2f} to {:.2f} s", end - seconds, end));
  }

  /// Judges by the first steps but one, which takes longer.
  void look_at_ranks() {
    const RunTimes& times = loop().times();
    const double computed = times.forward + times.backward - loop().waited_seconds();
    if (++stepped_ == 1) computed_ = computed;
    if (stepped_ < kSteps) return;
    const std::string text = loop().why_ranks_are_slow((computed - computed_) / (kSteps - 1));
    if (!text.empty()) console_.warn(text);
  }

  std::optional<Totals> validation_phase() {
    report::ProgressBar& bar = console_.bar();
    bar.start(label("val"), loop().validation().size());
    const auto totals = data_errors([&] {
      return loop().validate([&](const Totals& now) {
        bar.update(now.samples, status(now));
        return loop().stop_signal() == 0;
      });
    });
    bar.end();
    return totals;
  }

  /// "epoch  3/50 train", "pre-training 1/2".
  std::string label(const char* phase) const {
    if (loop().pretraining())
      return fmt::format("pre-training {}/{}", loop().pretrained() + 1, *options_.pretrain_epochs);
    const std::string epochs = std::to_string(options_.num_epochs);
    return fmt::format("epoch {:>{}}/{} {}", loop().epoch() + 1, epochs.size(), epochs, phase);
  }
  /// "epoch 3", "epoch 1 of pre-training".
  std::string epoch_text() const {
    return loop().pretraining() ? fmt::format("epoch {} of pre-training", loop().pretrained() + 1)
                                : fmt::format("epoch {}", loop().epoch() + 1);
  }
  /// Short enough for 80 columns.
  std::string status(const Totals& totals) const {
    const std::string found = loop().pretraining() ? fmt::format("error {:.4f}", totals.mean_loss())
                                                   : job_.status(totals);
    return found + " " + report::size_text(static_cast<double>(report::resident_bytes()));
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
    if (!is_first_rank()) return profiler_.reset();
    with_code(ExitCode::storage, [&] { profiler_->write_trace(folder_.file("trace.json")); });
    std::string table = profiler_->table();
    if (rank_count() > 1)
      table += fmt::format("\nwaiting for other ranks: {:.1f} % of the time\n",
                           100 * collective_share(*profiler_));
    folder_.write("profile.txt", table);
    profiler_.reset();
  }

  bool step() {
    try {
      return data_errors([&] { return loop().step(); });
    } catch (const Failure& failure) {
      if (failure.code() != ExitCode::diverged) throw;
      // Among several processes it is the one whose loss it was that writes it.
      const std::string replay = "replay.safetensors";
      with_code(ExitCode::storage, [&] { loop().replay().save(folder_.file(replay)); });
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
    } catch (const RankError&) {
      throw;
    } catch (const Error& error) {
      std::string text = error.what();
      try {
        if (!loop().in_step() && rank_count() == 1) save();
        writer_.finish();
      } catch (const Error& second) {
        text +=
            std::string("; what was learnt since the last checkpoint is lost: ") + second.what();
      }
      throw Failure(code_of(error, ExitCode::data), text);
    }
  }

  void end_pretraining_epoch() {
    if (at_last_step()) finished_ = true;
    loop().end_epoch();
    save();
  }

  void end_epoch(const Totals& train, const Totals& validation) {
    const int64_t epoch = loop().epoch();
    // Before anything is saved: the weights are ruined.
    if (!std::isfinite(validation.mean_loss()))
      throw Failure(ExitCode::diverged,
                    fmt::format("the validation loss must be finite, got {} after step {} (epoch "
                                "{}); what was saved before is as it was",
                                std::isnan(validation.mean_loss()) ? "nan" : "inf", loop().steps(),
                                epoch + 1));
    const bool best = validation.mean_loss() < history_.best_loss();
    for (const auto& [training, totals] : {std::pair(true, &train), {false, &validation}})
      history_.rows.push_back(history_row(epoch, training, *totals, loop().scores(),
                                          options_.batch_size, loop().device()));
    if (at_last_step()) finished_ = true;
    std::optional<State> weights;
    if (best) {
      weights = loop().network_state();
      weights->set("best.epoch", epoch);
      weights->set("best.loss", validation.mean_loss());
    }
    if (records_) records_->write_epoch(history_, job_);
    loop().end_epoch();
    save(weights);
  }

  void restore_times(const State& checkpoint) {
    for (const auto& [name, seconds] : kRunTimes) {
      const std::string key = std::string("times.") + name;
      if (checkpoint.contains(key)) loop().times().*seconds = checkpoint.get<double>(key);
    }
  }

  /// Saves a checkpoint and, before it, weights that are the best so far. A GPU goes on meanwhile:
  /// what goes wrong is then said by the next save, or at the end.
  void save(const std::optional<State>& best = {}) {
    const distributed::ActivityScope activity("saving a checkpoint");
    const double start = seconds_now();
    State state = loop().state();
    on_first_rank([&] {
      state.add("history.", history_.state());
      state.add("", records_->state());
      state.set("progress.finished", finished_);
      state.set("run.args", job_.args());
      for (const auto& [name, seconds] : kRunTimes)
        state.set(std::string("times.") + name, loop().times().*seconds);
      const auto write = [this](const State& checkpoint, const std::optional<State>& weights) {
        if (weights) folder_.save(*weights, "best.safetensors");
        folder_.save(checkpoint, "checkpoint.safetensors", 1);
      };
      if (rank_count() > 1 || !loop().device().is_cuda()) return write(state, best);
      writer_.finish();  // before there is another copy
      writer_.write([write, checkpoint = on_host(state),
                     weights = best ? std::optional(on_host(*best)) : std::nullopt] {
        write(checkpoint, weights);
      });
    });
    saved_ = seconds_now();
    loop().times().save += saved_ - start;
  }

  /// How good the best weights are on VAL, what else was asked for of them, and the report.
  int finish() {
    write_profile();              // of fewer steps
    if (history_.rows.empty()) {  // --num_epochs 0: the weights that were given
      save(loop().network_state());
    }
    writer_.finish();
    if (!is_first_rank()) return 0;  // it waits at the end of the program
    const double start = seconds_now();
    job_.evaluate(folder_, console_, [&](const std::string& label) {
      return progress_on(console_.bar(), label, "the training is saved; " + resume_command());
    });
    loop().times().evaluate = seconds_now() - start;
    with_code(ExitCode::storage, [&] { job_.write_report(folder_, history_); });
    console_.line("report " + folder_.file("report.html"));
    return 0;
  }

  std::string resume_command() const {
    return std::string("go on with: aorta-echo ") + job_.command() + " --resume --output " +
           shell_quoted(folder_.path());
  }

  int stop() {
    save();
    writer_.finish();
    console_.line(fmt::format("stopped by {} after step {} of {}; everything is saved",
                              signal_name(loop().stop_signal()), loop().epoch_steps(),
                              epoch_text()));
    console_.line(resume_command());
    return 128 + loop().stop_signal();
  }

  Job& job_;
  const RunOptions& options_;
  RunFolder folder_;
  Console console_;
  History history_;
  std::optional<RunRecords> records_;
  BackgroundWriter writer_;
  std::optional<Profiler> profiler_;
  bool finished_ = false;  // --max_steps is reached
  bool first_step_ = true;
  int profiled_ = 0;
  static constexpr int kSteps = 4;  // that say how long one takes
  int stepped_ = 0;                 // of these
  double computed_ = 0;             // in seconds, up to the first one's end
  double saved_ = seconds_now();
};

}  // namespace

void check_run_options(RunOptions& options) {
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
  check_positive("--batch_size", options.batch_size);
  check_positive("--save_every", options.save_every);
  check_not_negative("--timeout", options.timeout);
}

int run(Job& job) {
  catch_interrupts();
  return Run(job).go();
}

}  // namespace aorta::echo
