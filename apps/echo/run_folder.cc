#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/run_folder.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

namespace aorta::echo {
namespace {

namespace fs = std::filesystem;

/// What `--overwrite` removes, and a run writes: nothing that a run, or `evaluate` and `segment` of
/// it, doesn't write. Whether it is a folder.
const std::map<std::string, bool>& names_of_a_run() {
  static const std::map<std::string, bool> names = [] {
    std::map<std::string, bool> all;
    for (const char* file :
         {"args.yaml", "log.csv", "train.log", "curves.svg", "dice.svg", "report.html", "size.csv",
          "trace.json", "profile.txt", "replay.safetensors", "best.safetensors",
          "checkpoint.safetensors", "checkpoint.safetensors.1", "mae.svg"})
      all[file] = false;
    for (const char* folder : {"size", "videos", "samples", "ranks"}) all[folder] = true;
    for (const char* split : {"train", "val", "test", "all"})
      for (const char* rest : {"_dice.csv", "_ef.csv", "_ef.svg", "_bland_altman.svg",
                               "_predictions.csv", "_values.csv", "_scatter.svg", "_roc.svg"})
        all[std::string(split) + rest] = false;
    return all;
  }();
  return names;
}

bool of_a_run(const std::string& name) {
  return names_of_a_run().contains(name) || name.starts_with("events.out.tfevents.");
}

[[noreturn]] void fail_of(const std::string& path, const std::string& what, int error) {
  throw Failure(ExitCode::environment, path + ": " + what + ", got " + std::strerror(error));
}

/// The names in it; throws Failure(environment).
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error))
    names.push_back(entries->path().filename().string());
  if (error) fail_of(path, "the folder must be readable", error.value());
  return names;
}

/// A log alone is left by a start that came no further.
bool holds_a_run(const std::string& path) {
  const std::vector<std::string> names = names_in(path);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name != "train.log" && of_a_run(name); });
}

/// Throws Failure(environment) where something else stands in the place of a file that a run
/// writes: it would be found out when there is something to lose. The log may be a device.
void check_kinds(const std::string& path) {
  for (const auto& [name, folder] : names_of_a_run()) {
    const std::string place = path + "/" + name;
    std::error_code error;
    const fs::file_type type = fs::status(place, error).type();
    if (type == fs::file_type::none) fail_of(place, "the path must be readable", error.value());
    if (type == fs::file_type::not_found || name == "train.log") continue;
    if (type != (folder ? fs::file_type::directory : fs::file_type::regular))
      throw Failure(ExitCode::environment,
                    place + ": must be " + (folder ? "a folder" : "a regular file") + ", got " +
                        (type == fs::file_type::regular     ? "a file"
                         : type == fs::file_type::directory ? "a folder"
                                                            : "a device, pipe or socket"));
  }
}

/// Whether a run has had a checkpoint: the first one is written at the end of the first epoch,
/// after the epoch's rows and best weights.
bool is_beyond_first_checkpoint(const std::string& path) {
  if (is_there(path + "/report.html")) return true;
  try {
    const auto log = io::FileBytes::map(path + "/log.csv");
    constexpr int kFirstEpoch = 3;  // lines: the header and two phases
    const std::string_view lines = io::as_text(log->bytes());
    if (std::count(lines.begin(), lines.end(), '\n') > kFirstEpoch) return true;
  } catch (const Error&) {
    // No log.
  }
  try {
    return State::load(path + "/best.safetensors").get<int64_t>("best.epoch") > 0;
  } catch (const Error&) {
    return false;
  }
}

/// What stands behind "name:": without quotes around it, or a comment behind it. In double quotes a
/// backslash is YAML's, but that \xNN is a byte: a path is any bytes.
std::string value_of_yaml(const std::string& text) {
  if (text[0] == '\'') {  // two of them are one
    std::string value;
    for (size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '\'' && text.compare(i, 2, "\'\'") != 0) return value;
      value += text[i];
      i += text[i] == '\'';
    }
  }
  if (text[0] == '"') {
    std::string value;
    for (size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '"') return value;
      const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
      unsigned byte = 0;
      if (next == '\\' || next == '"') {
        value += text[++i];
      } else if (next == 'n') {
        value += '\n', ++i;
      } else if (next == 'x' && i + 3 < text.size() &&
                 std::from_chars(&text[i + 2], &text[i + 4], byte, 16).ptr == &text[i + 4]) {
        value += static_cast<char>(byte), i += 3;
      } else {
        value += text[i];
      }
    }
  }
  std::string value = text.substr(0, text.find(" #"));
  value.erase(value.find_last_not_of(' ') + 1);
  return value;
}

/// In quotes where it would read back otherwise, or isn't one line of text.
std::string text_of_yaml(const std::string& value) {
  const bool one_line = is_utf8(value) && std::none_of(value.begin(), value.end(), [](char c) {
                          return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                        });
  if (value.empty() || (one_line && value[0] != '#' && value.back() != ' ' && value[0] != ' ' &&
                        value_of_yaml(value) == value))
    return value;
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      text += std::string("\\") + c;
    else if (c == '\n')
      text += "\\n";
    else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !one_line))
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + '"';
}

struct Setting {
  std::string name, value;
  int64_t line;
};

/// "name: value" lines; `file` is for errors.
std::vector<Setting> settings_of_yaml(std::string_view text, const std::string& file) {
  std::vector<Setting> settings;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(':');
    const bool sound = colon != std::string::npos && colon > 0 &&
                       line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789-") == colon;
    if (!sound)
      throw Failure(ExitCode::usage, file + ":" + std::to_string(number) +
                                         ": a line must be \"name: value\", got " +
                                         io::quote(line));
    const size_t value = line.find_first_not_of(' ', colon + 1);
    if (value == std::string::npos || line[value] == '#') continue;
    settings.push_back({line.substr(0, colon), value_of_yaml(line.substr(value)), number});
  }
  return settings;
}

template <class Options>
std::string text_of_settings(const std::string& command, Options copy) {
  std::string text = "# aorta-echo " + command + " --config args.yaml repeats this run.\n";
  const auto value_text = [](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>)
      return value;
    else
      return fmt::format("{}", value);
  };
  copy.settings([&](const char*, const char* name, auto& value, const char*) {
    if constexpr (requires { value.has_value(); }) {
      if (value) text += std::string(name) + ": " + value_text(*value) + "\n";
    } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      if (!value.empty()) text += std::string(name) + ": " + text_of_yaml(value) + "\n";
    } else {
      text += std::string(name) + ": " + value_text(value) + "\n";
    }
  });
  return text;
}

}  // namespace

void check_holds_a_run(const std::string& path) {
  if (!is_there(path))
    throw Failure(ExitCode::environment,
                  path + ": --resume needs the folder of a run, got no such folder");
  if (!is_folder(path) || !holds_a_run(path))
    throw Failure(ExitCode::environment,
                  path + ": --resume needs the folder of a run, got one without");
}

RunFolder::RunFolder(const std::string& path, bool resume, bool overwrite, bool writes)
    : path_(path), resume_(resume), writes_(writes) {
  if (!writes) return;
  if (is_there(path) && !is_folder(path))
    throw Failure(ExitCode::environment, path + ": --output must be a folder, got a file");
  if (resume) check_holds_a_run(path);
  for (fs::path folder = path; !folder.empty() && !is_there(folder.string());
       folder = folder.parent_path())
    made_ = folder;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_of(path, "the output folder must be writable", error.value());
  lock();
  try {
    if (!resume && !overwrite && holds_a_run(path))
      throw Failure(
          ExitCode::storage,
          path + ": the folder holds a run; --resume goes on with it, --overwrite replaces it");
    if (!overwrite) check_kinds(path);
  } catch (...) {
    close(lock_);
    throw;
  }
  // What a killed run left.
  for (const char* folder : {"", "/samples", "/size", "/videos"})
    io::remove_abandoned(path + folder);
}

void RunFolder::lock() {
  // O_NONBLOCK: opening a device must not wait for it.
  lock_ = open(file(".lock").c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644);
  if (lock_ < 0) fail_of(path_, "the output folder must be writable", errno);
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int number = errno;
  close(lock_);
  if (number == EWOULDBLOCK)
    throw Failure(ExitCode::environment, path_ +
                                             ": the folder must not be in use, got another "
                                             "run of aorta-echo that writes to it");
  fail_of(path_, "the output folder must be lockable", number);
}

RunFolder::~RunFolder() {
  if (!writes_) return;
  try {
    remove_if_empty();
  } catch (const std::exception&) {
    // It stays: nobody is left to hear why.
  }
  close(lock_);
}

void RunFolder::remove_if_empty() const {
  if (made_.empty() || holds_a_run(path_)) return;
  std::error_code ignored;
  for (const char* name : {".lock", "train.log"}) fs::remove(file(name), ignored);
  for (fs::path folder = path_; fs::remove(folder, ignored) && folder != made_;)
    folder = folder.parent_path();
}

void RunFolder::begin() const {
  if (!writes_) return;
  remove("ranks");  // of an end that is over
  if (resume_) return;
  std::error_code error;
  fs::resize_file(file("train.log"), 0, error);  // which is open already
  for (const std::string& name : names_in(path_))
    if (name != "train.log" && of_a_run(name)) remove(name);
}

void RunFolder::remove(const std::string& name) const {
  std::error_code error;
  fs::remove_all(file(name), error);
  if (error) fail_of(file(name), "must be removable", error.value());
}

void RunFolder::remove_starting(const std::string& start) const {
  for (const std::string& name : names_in(path_))
    if (name.starts_with(start)) remove(name);
}

void RunFolder::check_space(int64_t bytes) const {
  if (!writes_) return;
  struct statvfs status {};
  if (statvfs(path_.c_str(), &status) != 0) return;  // a file system that doesn't say
  const auto free = static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const fs::path name = *fs::path(entry->path()).lexically_relative(path_).begin();
    if (!of_a_run(name.string()) || !entry->is_regular_file(gone)) continue;
    const auto size = entry->file_size(gone);
    if (!gone) bytes -= static_cast<int64_t>(size);
  }
  if (free < bytes)
    throw Failure(
        ExitCode::environment,
        fmt::format("{}: the checkpoints and the other files of a run need {:.1f} MB, got "
                    "{:.1f} MB free",
                    path_, static_cast<double>(bytes) / 1e6, static_cast<double>(free) / 1e6));
}

void RunFolder::save(const State& state, const std::string& name, int keep_previous) const {
  if (!writes_) return;
  with_code(ExitCode::storage, [&] { state.save(file(name), keep_previous); });
}

void RunFolder::write(const std::string& name, const std::string& text) const {
  if (!writes_) return;
  with_code(ExitCode::storage, [&] {
    io::AtomicFile out(file(name));
    out.write(text);
    out.commit();
  });
}

State RunFolder::load_checkpoint(std::string& note) const {
  const std::string path = file("checkpoint.safetensors");
  if (!is_there(path) && !is_there(path + ".1")) {
    if (is_beyond_first_checkpoint(path_))
      throw Failure(ExitCode::storage,
                    path_ +
                        ": --resume needs checkpoint.safetensors, got a run without it; "
                        "--overwrite replaces the run");
    return {};
  }
  try {
    return State::load(path);
  } catch (const ResourceError& refusal) {
    throw Failure(ExitCode::environment, refusal.what());
  } catch (const Error& damage) {
    try {
      State previous = State::load(path + ".1");
      note = std::string(damage.what()) + "; going on from the checkpoint before it";
      return previous;
    } catch (const Error& second) {
      throw Failure(code_of(second, ExitCode::data), damage.what());
    }
  }
}

std::string args_yaml(const TrainOptions& options) { return text_of_settings("train", options); }
std::string args_yaml(const VideoOptions& options) { return text_of_settings("video", options); }

void check_resumable(const std::string& before, const std::string& now) {
  const auto parsed = [](const std::string& text, const char* name) {
    std::map<std::string, std::string> values;
    for (Setting& setting : settings_of_yaml(text, name)) values[setting.name] = setting.value;
    return values;
  };
  std::map<std::string, std::string> old = parsed(before, "checkpoint"),
                                     given = parsed(now, "args");
  // What a run may be resumed with: where it computes and how it reads, and for how long.
  for (const char* free :
       {"data_dir", "num_workers", "pin_memory", "timeout", "device", "devices", "rank_timeout",
        "run_test", "save_video", "save_every", "deterministic", "tf32"}) {
    old.erase(free);
    given.erase(free);
  }
  const std::string& schedule = old["schedule"];
  if (schedule == "step") old.erase("num_epochs"), given.erase("num_epochs");
  if (schedule != "onecycle") old.erase("max_steps"), given.erase("max_steps");
  for (const auto& [name, value] : given)
    if (old[name] != value)
      throw Failure(ExitCode::usage, "--resume: " + name + " must stay what it was, got " + value +
                                         " after " + (old[name].empty() ? "none" : old[name]));
  for (const auto& [name, value] : old)
    if (!value.empty() && !given.contains(name))
      throw Failure(ExitCode::usage,
                    "--resume: " + name + " must stay what it was, got none after " + value);
}

std::vector<FileFlag> flags_of_yaml(const std::string& path) {
  const auto bytes = with_code(ExitCode::usage, [&] { return io::FileBytes::map(path); });
  std::vector<FileFlag> flags;
  for (const Setting& setting : settings_of_yaml(io::as_text(bytes->bytes()), path))
    flags.push_back(
        {"--" + setting.name + "=" + setting.value, path + ":" + std::to_string(setting.line)});
  return flags;
}

std::string shell_quoted(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=:,@%+") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace aorta::echo
