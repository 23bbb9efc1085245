#pragma once

#include <aorta/apps/echo/train_options.h>
#include <aorta/apps/echo/video/video_options.h>
#include <aorta/core/io/state.h>

#include <optional>

namespace aorta::echo {

/// The folder of a run, locked against a second run while this object lives.
///
///     args.yaml               what repeats the run
///     checkpoint.safetensors  where it stands; the one before is checkpoint.safetensors.1
///     best.safetensors        the weights of the lowest validation loss
///     log.csv, train.log, curves.svg, report.html, events.out.tfevents.*, ...
class RunFolder {
 public:
  /// Makes or takes the folder. Throws Failure: storage for one that holds a run, unless `resume`
  /// or `overwrite` say what to do with it; environment for one that can't be written, is in use,
  /// isn't a folder, has something else in the place of a file of a run, or is to be resumed and
  /// holds no run. Removes what killed runs left of files that they wrote.
  /// Where several processes train together (ranks.h) the first has the folder; the others, with
  /// `writes` false, read it, and whatever they write is left out.
  RunFolder(const std::string& path, bool resume, bool overwrite, bool writes = true);
  /// Leaves nothing of a folder that it made and in which no run has begun.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// The run that is there goes away, unless it is resumed: from here on the folder is the new
  /// one's.
  void begin() const;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Removes the files whose names start so.
  void remove_starting(const std::string& start) const;

  /// Throws Failure(environment) unless the file system has room for a run of so many bytes, where
  /// what it has of it, or of the run that it replaces, is now.
  void check_space(int64_t bytes) const;

  /// Whole or not at all; throws Failure(storage).
  void save(const State& state, const std::string& name, int keep_previous = 0) const;
  void write(const std::string& name, const std::string& text) const;
  /// The checkpoint, or the one before where it is damaged, of which `note` then says why; empty
  /// for a run that came to none. Throws Failure: data when neither can be read, storage when a run
  /// that had one has it no more.
  State load_checkpoint(std::string& note) const;

 private:
  void lock();
  void remove(const std::string& name) const;
  void remove_if_empty() const;

  std::string path_;
  bool resume_, writes_;
  int lock_ = -1;
  std::string made_;  // the uppermost folder that wasn't there before
};

/// Throws Failure(environment) unless there is a run that can be resumed.
void check_holds_a_run(const std::string& path);

/// "name: value" lines.
std::string args_yaml(const TrainOptions& options);
std::string args_yaml(const VideoOptions& options);
/// Throws Failure(usage) when a setting on which a run's numbers depend isn't what it was; both are
/// texts of args_yaml.
void check_resumable(const std::string& before, const std::string& now);
/// A line of such a file.
struct FileFlag {
  std::string flag;   // "--name=value"
  std::string place;  // "file:line"
};
/// Its lines, without what stands behind " #"; throws Failure(usage) with file and line.
std::vector<FileFlag> flags_of_yaml(const std::string& path);
/// A name of a file in a shell command.
std::string shell_quoted(const std::string& text);

}  // namespace aorta::echo
