#include <aorta/apps/echo/beats/beats.h>
#include <aorta/apps/echo/check_data.h>
#include <aorta/apps/echo/command_line.h>
#include <aorta/apps/echo/compare.h>
#include <aorta/apps/echo/console.h>
#include <aorta/apps/echo/doctor.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/export.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/import/import.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/apps/echo/run_folder.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/synth/synth.h>
#include <aorta/apps/echo/train.h>
#include <aorta/apps/echo/video/video.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/process/init.h>
#include <aorta/core/version.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <sstream>

namespace aorta::echo {
namespace {

constexpr const char* kDescription =
    "Trains, evaluates and applies a segmenter of the left ventricle in echocardiograms that lie "
    "in\n"
    "EchoNet-Dynamic's layout. Three commands to start with:\n"
    "\n"
    "  aorta-echo synth --output synthetic\n"
    "  aorta-echo train --data_dir synthetic --output run --model_name unet_small --optimizer adam "
    "--lr 1e-3 --num_epochs 5 --batch_size 8 --run_test\n"
    "  aorta-echo segment --weights run --output segmented synthetic/Videos/*.avi\n";

/// Help without the marks that CLI11 puts behind names that turn a flag off.
struct PlainHelp : CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    const std::string mark = "{false}";
    for (size_t at; (at = name.find(mark)) != std::string::npos;) name.erase(at, mark.size());
    return name;
  }
};

/// A command: what it is told, and what it does. The returned number is the exit code.
struct [[nodiscard]] Command {
  CLI::App* app;
  std::function<int()> run;
};

/// A value as a message shows it: as it is, and what a terminal doesn't show in quotes.
std::string shown(const std::string& text) {
  const std::string quoted = io::quote(text);
  return text.empty() || quoted.size() != text.size() + 2 ? quoted : text;
}

[[noreturn]] void refuse(const std::string& rule, const std::string& text) {
  throw CLI::ValidationError("must " + rule + ", got " + shown(text));
}

/// Text that CLI11 takes for exactly this number. By itself it takes what doesn't fit for the
/// largest one, 010 for 8, and rounds twice.
template <class T>
std::string number_text(std::string text) {
  using Limits = std::numeric_limits<T>;
  constexpr const char* kRule = Limits::is_integer ? "be a whole number" : "be a number";
  const bool signed_twice = text.starts_with("+-"), negative = text.starts_with("-");
  const char *begin = text.data() + text.starts_with("+"), *end = text.data() + text.size();
  if (std::is_unsigned_v<T> && negative) refuse("not be negative", text);
  T value{};
  const auto [last, error] = std::from_chars(begin, end, value);
  if (last != end || error == std::errc::invalid_argument || signed_twice) refuse(kRule, text);
  if constexpr (Limits::is_integer) {
    if (error != std::errc{} && negative)
      refuse(fmt::format("be at least {}", Limits::min()), text);
    if (error != std::errc{}) refuse(fmt::format("be at most {}", Limits::max()), text);
    return fmt::format("{}", value);
  } else {
    const bool vanishes = error != std::errc{} && std::abs(std::strtod(begin, nullptr)) < 1;
    if (vanishes) refuse(fmt::format("be 0 or at least {} in size", Limits::denorm_min()), text);
    if (error != std::errc{} || !std::isfinite(value)) refuse("be a finite number", text);
    return fmt::format("{:a}", value);
  }
}

std::string in_small_letters(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// Options whose values are names: `--split TEST` is `--split test`.
bool holds_a_name(const std::string& option) {
  return option == "split" || option == "model_name" || option == "optimizer" ||
         option == "schedule" || option == "device" || option == "devices";
}

/// What a flag that is on or off may be given with "=".
std::string flag_text(const std::string& given) {
  const std::string text = in_small_letters(given);
  static const std::vector<std::string> known = {"true", "false", "on", "off",
                                                 "yes",  "no",    "1",  "0"};
  if (std::find(known.begin(), known.end(), text) == known.end()) refuse("be true or false", given);
  return text;
}

/// The type of a field's value, or of the one or more that it may hold.
template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct ValueOf<std::vector<T>> {
  using Type = T;
};

/// Adds `--name` for a field of any of the types that options have.
template <class T>
void add_field(CLI::App& app, const char* group, const std::string& name, T& field,
               const char* description) {
  CLI::Option* option = nullptr;
  if constexpr (std::is_same_v<T, bool>) {
    // The pairs of `echonet segmentation`.
    const std::string negative = name == "pretrained"   ? "random"
                                 : name == "run_test"   ? "skip_test"
                                 : name == "save_video" ? "skip_video"
                                                        : "no_" + name;
    const std::string on = field ? " [on]" : "";  // what numbers show by their default
    option = app.add_flag("--" + name + ",!--" + negative, field, description + on);
    option->transform(flag_text);
  } else {
    option = app.add_option("--" + name, field, description);
    if constexpr (requires { field.push_back(0); } && !std::is_same_v<T, std::string>)
      option->delimiter(',');
    if constexpr (!requires { field.has_value(); }) option->capture_default_str();
    using Value = typename ValueOf<T>::Type;
    if constexpr (std::is_arithmetic_v<Value>) option->transform(number_text<Value>);
    if (holds_a_name(name)) option->transform(in_small_letters);
  }
  option->group(group)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

/// A command that trains: its settings, and the flags about its folder. `output` says where it is
/// when it is left out.
template <class Options>
Command run_command(CLI::App& app, const char* name, const char* description, const char* output,
                    int (*run)(Options)) {
  CLI::App* command = app.add_subcommand(name, description);
  auto options = std::make_shared<Options>();
  auto config = std::make_shared<std::string>();
  options->settings([&](const char* group, const char* flag, auto& field, const char* text) {
    add_field(*command, group, flag, field, text);
  });
  add_field(*command, "Output", "output", options->output, output);
  add_field(*command, "Output", "resume", options->resume, "go on with the run in --output");
  add_field(*command, "Output", "allow_changed_data", options->allow_changed_data,
            "go on with --resume though the videos or what is told of them are others");
  add_field(*command, "Output", "overwrite", options->overwrite, "replace the run in --output");
  add_field(*command, "Output", "profile", options->profile,
            "time the first steps: trace.json, profile.txt");
  add_field(*command, "Output", "quiet", options->quiet, "nothing on stdout");
  add_field(*command, "Training", "config", *config,
            "a file of \"name: value\" lines, as args.yaml; flags override it");
  // config stays: its flag writes to it when the arguments are parsed.
  return {command, [options, config, run] { return run(*options); }};
}

Command train_command(CLI::App& app) {
  return run_command<TrainOptions>(
      app, "train", "Trains a segmenter in a run folder",
      "the run's folder; output/segmentation/MODEL_random (or _pretrained) when left out", train);
}

Command video_command(CLI::App& app) {
  return run_command<VideoOptions>(
      app, "video", "Trains a network that tells the ejection fraction of clips, in a run folder",
      "the run's folder; output/video/MODEL_FRAMES_PERIOD_pretrained (or _random) when left out",
      train_on_clips);
}

constexpr const char* kWeights = "a run's folder (its best weights), or a file of weights";
constexpr const char* kWeightsOrShipped =
    "a run's folder (its best weights), or a file of weights; the segmenter that comes with the "
    "program when left out";
constexpr const char* kModelName = "network of weights that don't say it";

Command evaluate_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("evaluate", "Dice and ejection fractions of a run's network on a split");
  auto options = std::make_shared<EvaluateOptions>();
  command->add_option("--weights", options->run_or_weights, kWeightsOrShipped);
  add_field(*command, "Running", "model_name", options->model_name, kModelName);
  add_field(*command, "Data", "data_dir", options->data_dir, "folder in EchoNet-Dynamic's layout");
  add_field(*command, "Data", "split", options->split, "train, val, test or all");
  add_field(*command, "Data", "num_workers", options->num_workers, "processes that read");
  add_field(*command, "Running", "batch_size", options->batch_size, "videos at a time");
  add_field(*command, "Running", "device", options->device, "auto, cpu, cuda or cuda:N");
  add_field(*command, "Output", "output", options->output,
            "folder for tables and plots; the run's when left out");
  add_field(*command, "Output", "predictions", options->predictions,
            "a table besides, FileName and EF_pred, as CardioBench reads it");
  add_field(*command, "Output", "save_video", options->save_video, "segment its videos, too");
  add_field(*command, "Output", "quiet", options->quiet, "no progress bar");
  return {command, [options] {
            evaluate(*options);
            return 0;
          }};
}

Command segment_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "segment", "Outlines the ventricle in videos: overlay, area, beats, ejection fraction");
  auto options = std::make_shared<SegmentOptions>();
  command->add_option("videos", options->videos, "video files")->required();
  command->add_option("--weights", options->run_or_weights, kWeightsOrShipped);
  add_field(*command, "Running", "model_name", options->model_name, kModelName);
  add_field(*command, "Running", "batch_size", options->batch_size, "frames at a time");
  add_field(*command, "Running", "tta", options->tta,
            "test-time augmentation: other pictures of each beat's two frames, so many");
  add_field(*command, "Running", "device", options->device, "auto, cpu, cuda or cuda:N");
  add_field(*command, "Output", "output", options->output, "folder for videos, tables and plots");
  add_field(*command, "Output", "save_video", options->save_video, "write overlay videos");
  add_field(*command, "Output", "overwrite", options->overwrite, "replace overlay videos");
  add_field(*command, "Output", "quiet", options->quiet, "no progress bar");
  return {command, [options] {
            segment(*options);
            return 0;
          }};
}

Command beats_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "beats",
      "The ejection fraction of each beat: a segmenter finds the beats, a network of clips tells");
  auto options = std::make_shared<BeatsOptions>();
  command->add_option("videos", options->videos, "video files; without any, a split of --data_dir");
  command->add_option("--weights", options->run_or_weights, "of the segmenter: a run, or a file")
      ->required();
  command->add_option("--video_weights", options->video_weights, "a run of `video` that tells EF")
      ->required();
  add_field(*command, "Data", "data_dir", options->data_dir, "folder in EchoNet-Dynamic's layout");
  add_field(*command, "Data", "split", options->split, "train, val, test or all");
  add_field(*command, "Running", "batch_size", options->batch_size, "frames at a time");
  add_field(*command, "Running", "device", options->device, "auto, cpu, cuda or cuda:N");
  add_field(*command, "Output", "output", options->output,
            "folder for tables, plots and the report");
  add_field(*command, "Output", "overwrite", options->overwrite, "replace what is there");
  add_field(*command, "Output", "quiet", options->quiet, "no progress bar, no line a video");
  return {command, [options] {
            beats(*options);
            return 0;
          }};
}

Command synth_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "synth", "Makes a data set of synthetic echocardiograms in EchoNet-Dynamic's layout");
  auto options = std::make_shared<SynthOptions>();
  command->add_option("--output", options->output, "a new or empty folder")->required();
  add_field(*command, "Data", "train", options->train, "videos of TRAIN");
  add_field(*command, "Data", "val", options->val, "videos of VAL");
  add_field(*command, "Data", "test", options->test, "videos of TEST");
  add_field(*command, "Data", "frames", options->frames, "of a video, at most");
  add_field(*command, "Data", "fps", options->fps, "frames a second");
  add_field(*command, "Data", "size", options->size, "height and width of a frame, pixels");
  add_field(*command, "Data", "seed", options->seed, "of everything random");
  add_field(*command, "Data", "overwrite", options->overwrite, "replace a data set");
  return {command, [options] {
            synth(*options);
            return 0;
          }};
}

Command import_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "import",
      "Makes a data set of one's own videos: DICOM files, AVI, MP4 and what OpenCV reads");
  auto options = std::make_shared<ImportOptions>();
  command->add_option("sources", options->sources, "files, and folders of them")->required();
  command->add_option("--output", options->output, "a new or empty folder")->required();
  add_field(*command, "Data", "table", options->table,
            "a table of what is known: FileName and any of EF, ESV, EDV, Split, Patient");
  add_field(*command, "Data", "split", options->split, "hash (of the patient), train, val or test");
  add_field(*command, "Output", "key", options->key,
            "a table besides of which file became which video");
  add_field(*command, "Output", "overwrite", options->overwrite, "replace what an import wrote");
  add_field(*command, "Output", "quiet", options->quiet, "no progress bar, no line a video");
  return {command, [options] {
            import_videos(*options);
            return 0;
          }};
}

Command export_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("export", "Writes weights with torchvision's names, for PyTorch");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("--weights", options->weights, kWeights)->required();
  command->add_option("--output", options->output, "a .safetensors or .npz file")->required();
  command->add_option("--dtype", options->dtype, "f32, or f16 for half the room")
      ->capture_default_str()
      ->transform(in_small_letters);
  command->add_flag("--overwrite", options->overwrite, "replace the file");
  return {command, [options] {
            export_weights(*options);
            return 0;
          }};
}

Command compare_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare", "One table of the time of an epoch by workers, pin_memory and device");
  auto options = std::make_shared<CompareOptions>();
  TrainOptions& train = options->train;
  add_field(*command, "Data", "data_dir", train.data_dir, "folder in EchoNet-Dynamic's layout");
  add_field(*command, "Data", "recordings", options->recordings, "videos an epoch");
  add_field(*command, "Data", "workers", options->workers, "processes that read");
  add_field(*command, "Training", "model_name", train.model_name, "network");
  add_field(*command, "Training", "batch_size", train.batch_size, "videos a step");
  add_field(*command, "Training", "epochs", options->epochs, "epochs whose time is averaged");
  add_field(*command, "Training", "device", train.device, "auto (all there are), cpu or cuda");
  add_field(*command, "Training", "amp", train.amp, "compute in bf16 where it is safe");
  return {command, [options] { return compare(*options); }};
}

Command data_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "Looks at a data folder");
  command->require_subcommand(1);
  auto options = std::make_shared<CheckDataOptions>();
  CLI::App* check = command->add_subcommand("check", "A line for each fault of the files");
  CLI::App* info = command->add_subcommand("info", "What each split has");
  for (CLI::App* part : {check, info}) {
    add_field(*part, "Data", "data_dir", options->data_dir, "folder in EchoNet-Dynamic's layout");
    add_field(*part, "Data", "open_videos", options->open_videos, "look into every video");
  }
  return {command, [options, check] {
            if (check->parsed())
              check_data(*options);
            else
              data_info(*options);
            return 0;
          }};
}

Command doctor_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("doctor", "Looks at the machine and says how to repair what is amiss");
  auto options = std::make_shared<DoctorOptions>();
  command->add_option("--folder", options->folder, "where runs are written");
  return {command, [options] {
            doctor(*options);
            return 0;
          }};
}

Command ranks_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("ranks", "What the processes of a run that failed did last, side by side");
  auto run = std::make_shared<std::string>();
  command->add_option("run", *run, "the run's folder")->required();
  return {command, [run] {
            show_ranks(*run);
            return 0;
          }};
}

/// Several processes train; no other command knows of the others.
void check_trains(const CLI::App& command) {
  if (rank_count() > 1 && command.get_name() != "train")
    throw Failure(ExitCode::usage, command.get_name() +
                                       ": one process does it, and several `train` alone, got " +
                                       std::to_string(rank_count()) + " of mpirun or srun");
}

/// Refuses "" for every value: that of a shell's variable that isn't set, say.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    option->check(
        [](const std::string& text) { return text.empty() ? "must have a value, got \"\"" : ""; });
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_values(*command);
}

/// `--num-workers`, `--Num_Workers` and `--num_workers` are one.
std::string with_known_letters(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  const size_t end = std::min(argument.find('='), argument.size());
  argument = in_small_letters(argument.substr(0, end)) + argument.substr(end);
  std::replace(argument.begin() + 2, argument.begin() + static_cast<ptrdiff_t>(end), '-', '_');
  return argument;
}

/// The last value of `--name VALUE` or `--name=VALUE`; empty when there is none.
std::string value_of(const std::vector<std::string>& arguments, const std::string& name) {
  std::string value;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == name && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].starts_with(name + "=")) value = arguments[i].substr(name.size() + 1);
  }
  return value;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

/// ", did you mean X?", or nothing when no name is near.
std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  size_t distance = std::max<size_t>(name.size() / 2, 2) + 1;
  for (const std::string& candidate : known) {
    const size_t d = edit_distance(name, candidate);
    if (d < distance) best = candidate, distance = d;
  }
  return best.empty() ? "" : ", did you mean " + best + "?";
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What is wrong with the arguments, in one line.
std::string usage_text(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App* chosen = &app;
  for (bool deeper = true; deeper;) {
    deeper = false;
    for (const CLI::App* command : chosen->get_subcommands()) chosen = command, deeper = true;
  }
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))  // "--lr: 1 required FLOAT missing"
    text = text.substr(0, text.find(": ")) + ": must have a value, got none";
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::string name = text.substr(0, text.find(" is required"));
    text = (name == "A subcommand" ? "there must be a command" : name + ": must be given") +
           ", got none";
  }
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    const std::string& first = extras[0];
    const std::string name = first.substr(0, first.find('='));
    const std::vector<std::string> flags = flags_of(*chosen);
    const bool known = std::find(flags.begin(), flags.end(), name) != flags.end();  // behind "--"
    if (name.starts_with("-") && !known) {
      text = "unknown flag " + name + nearest(name, flags);
    } else {
      std::vector<std::string> commands;
      for (const CLI::App* command : chosen->get_subcommands({}))
        commands.push_back(command->get_name());
      text = "unexpected argument " + first + nearest(first, commands);
    }
  }
  return text + "; `" + (chosen == &app ? "" : app.get_name() + " ") + chosen->get_name() +
         " --help` lists what there is";
}

/// Adds the lines of a file as flags of the command `name`. Each is parsed alone first, so that an
/// error has its line.
void append_file(const std::string& path, Command (*command_of)(CLI::App& app), const char* name,
                 std::vector<std::string>& arguments) {
  for (const auto& [flag, place] : flags_of_yaml(path)) {
    arguments.push_back(with_known_letters(flag));
    CLI::App app("", "aorta-echo");
    const Command command = command_of(app);  // holds what the flags write to
    try {
      app.parse(std::vector<std::string>{arguments.back(), name});  // as CLI11 takes them
    } catch (const CLI::ParseError& error) {
      throw Failure(ExitCode::usage, place + ": " + usage_text(error, app));
    }
  }
}

/// The arguments, those of files first: flags override --config, and that what a resumed run has.
std::vector<std::string> with_files(const std::vector<std::string>& arguments) {
  const bool video = !arguments.empty() && arguments[0] == "video";
  if (!video && (arguments.empty() || arguments[0] != "train")) return arguments;
  const auto append = [&](const std::string& path, std::vector<std::string>& all) {
    append_file(path, video ? video_command : train_command, video ? "video" : "train", all);
  };
  std::vector<std::string> all{arguments[0]};
  const std::string output = value_of(arguments, "--output");
  const bool resumes = std::find(arguments.begin(), arguments.end(), "--resume") != arguments.end();
  const std::string own = output + "/args.yaml";
  if (resumes && !output.empty() && access(own.c_str(), R_OK) == 0) append(own, all);
  const std::string config = value_of(arguments, "--config");
  if (!config.empty()) append(config, all);
  all.insert(all.end(), arguments.begin() + 1, arguments.end());
  return all;
}

int complain(ExitCode code, const std::string& text) {
  return end_ranks(static_cast<int>(code), text);
}

/// The code of a command that ended with `code`: another one where what it printed is lost. What a
/// training printed is in its log.
int said_all(int code, bool has_log) {
  if (const std::string error = flush_output(); !error.empty()) {
    const std::string text = "standard output: it must take what is printed, got " + error;
    if (code == 0 && !has_log) return complain(ExitCode::storage, text);
    std::fprintf(stderr, "warning: %s\n", text.c_str());
  }
  return code == 0 && !has_log && text_is_lost() ? 128 + interrupted() : code;
}

/// Without memory of its own.
int complain_of_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr,
               "error: memory: there must be enough (ulimit -v and -d limit it), got no more than "
               "the %ld MiB in use\n",
               usage.ru_maxrss >> 10);
  return static_cast<int>(ExitCode::environment);
}

}  // namespace

int run_command_line(int argc, char** argv) try {
  with_code(ExitCode::environment, [&] { init(argc, argv); });
  // Behind init(), whose helper process Ctrl-C reaches too. Of several processes one says it.
  if (is_first_rank()) end_on_interrupts();
  CLI::App app(kDescription, "aorta-echo");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("aorta-echo ") + version(), "print the version");
  app.fallthrough(false);
  app.formatter(std::make_shared<PlainHelp>());
  const std::vector<Command> commands = {
      train_command(app),  video_command(app),   evaluate_command(app), segment_command(app),
      synth_command(app),  compare_command(app), data_command(app),     doctor_command(app),
      export_command(app), import_command(app),  beats_command(app),    ranks_command(app)};
  refuse_empty_values(app);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) argument = with_known_letters(argument);
  if (!arguments.empty()) arguments[0] = in_small_letters(arguments[0]);  // the command
  arguments = with_files(arguments);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int code = app.exit(help, text, text);
    std::fputs(text.str().c_str(), stdout);
    return said_all(code, false);
  } catch (const CLI::ParseError& error) {
    return complain(ExitCode::usage, usage_text(error, app));
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    check_trains(*command.app);
    const int code = command.run();
    return said_all(code, command.app->get_name() == "train" || command.app->get_name() == "video");
  }
  return 0;
} catch (const RankError& error) {
  return end_with(error);
} catch (const Failure& failure) {
  return complain(failure.code(), failure.what());
} catch (const std::bad_alloc&) {
  return complain_of_memory();
} catch (const std::exception& error) {
  return complain(ExitCode::environment, error.what());
}

}  // namespace aorta::echo
