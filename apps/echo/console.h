#pragma once

#include <aorta/report/progress.h>

#include <functional>
#include <string>

namespace aorta::echo {

/// Lines for a person, on stdout and in a log file. Neither a full disk nor a reader that went away
/// ends anything: the first line that can't be logged is said on stderr.
class Console {
 public:
  /// Appends to `log_path`. `quiet`: the log alone. An empty path: nothing is said anywhere.
  Console(const std::string& log_path, bool quiet);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void line(const std::string& text);
  /// In the log alone.
  void note(const std::string& text) { log(text); }
  /// On stderr, and in the log.
  void warn(const std::string& text);
  /// The bar that stands below the lines.
  report::ProgressBar& bar() { return bar_; }

 private:
  void log(const std::string& text);

  std::string path_;
  report::ProgressBar bar_;
  int log_ = -1;
  int open_error_ = 0;
  bool quiet_, silent_;
  bool complained_ = false;
};

/// Writes what was printed, to the last byte, and returns why that failed; nothing where it didn't,
/// or where the reader went away.
std::string flush_output();

/// What passes over data call with how many of how many are done: shows it on the bar, which ends
/// with the last, and throws stop_if_interrupted(`kept`)'s Failure (files.h).
std::function<void(int64_t done, int64_t count)> progress_on(
    report::ProgressBar& bar, const std::string& label,
    const std::string& kept = "files that were written are whole");

}  // namespace aorta::echo
