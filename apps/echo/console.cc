#include <aorta/apps/echo/console.h>
#include <aorta/apps/echo/files.h>
#include <aorta/core/text.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace aorta::echo {

Console::Console(const std::string& log_path, bool quiet)
    : path_(log_path),
      bar_({.quiet = quiet || log_path.empty()}),
      quiet_(quiet),
      silent_(log_path.empty()) {
  if (silent_) return;
  // O_NONBLOCK: opening a pipe must not wait for its reader, nor writing for its room.
  log_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0644);
  open_error_ = errno;
}

Console::~Console() {
  if (log_ >= 0) close(log_);
}

void Console::log(const std::string& text) {
  if (silent_) return;
  const std::string line = text + "\n";
  errno = open_error_;
  if (log_ >= 0 && write(log_, line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return;
  if (!complained_)
    std::fprintf(stderr, "warning: %s: lines are missing, got %s; the training goes on\n",
                 printable(path_).c_str(), std::strerror(errno));
  complained_ = true;
}

void Console::line(const std::string& text) {
  log(text);
  if (!quiet_ && !silent_) bar_.print(text);
}

void Console::warn(const std::string& text) {
  if (silent_) return;
  log("warning: " + text);
  bar_.end();
  std::fprintf(stderr, "warning: %s\n", printable(text).c_str());
}

std::string flush_output() {
  const int flush_error = std::fflush(stdout) == 0 ? 0 : errno;
  const int error = flush_error ? flush_error : report::ProgressBar::print_error();
  if (!error && !std::ferror(stdout)) return "";
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR)) return "";
  return error ? std::strerror(error) : "an error when a part of it was written";
}

std::function<void(int64_t done, int64_t count)> progress_on(report::ProgressBar& bar,
                                                             const std::string& label,
                                                             const std::string& kept) {
  return [&bar, label, kept, started = false](int64_t done, int64_t count) mutable {
    if (!started) bar.start(label, count);
    started = true;
    bar.update(done);
    if (done == count) bar.end();
    stop_if_interrupted(kept);
  };
}

}  // namespace aorta::echo
