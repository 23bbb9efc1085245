#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aorta::report {

/// Where a ProgressBar writes, and when.
struct ProgressOptions {
  int bar = 2;    // the descriptor that the bar goes to: standard error
  int lines = 1;  // and the one of printed lines: standard output
  /// Seconds of a clock that never goes back.
  double (*clock)() = nullptr;  // the machine's
  bool quiet = false;           // neither bar nor heartbeat; printed lines stay
};

/// Shows how far a program is. On a terminal it is one line, which steps redraw at most ten times a
/// second:
///
///     epoch  3/50 train  62% ━━━━━━━╸──── 5/8 3.1it/s 0:02<0:01 loss 0.142 dice 0.871 4.2G
///
/// It never wraps, whatever the terminal's width is at the moment: first the bar shrinks, then the
/// time that has passed gives way, the bar, and the end of the text. Elsewhere (a file, a pipe,
/// TERM=dumb) there is a line of the same text when nothing was written for 30 seconds, without
/// carriage returns and colours. NO_COLOR turns colours off; letters are ASCII's unless LC_ALL,
/// LC_CTYPE or LANG says UTF-8. The cursor is never hidden, so a killed program leaves a sane
/// terminal. Errors of writing are ignored: none of them is worth ending a training for.
///
///     report::ProgressBar bar;
///     for (...) {
///       bar.start(fmt::format("epoch {:2}/{} train", epoch, epochs), steps);
///       for (...) bar.update(++done, fmt::format("loss {:.3f}", loss));
///       bar.end();
///       bar.print(line_of_the_epoch);
///     }
///
/// For one thread.
class ProgressBar {
 public:
  explicit ProgressBar(const ProgressOptions& options = {});
  /// Ends the line that the bar stands on; so does an exception that passes.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Begins a stage of `total` steps (0: nobody knows how many), of which `done` were done before.
  void start(std::string_view label, int64_t total, int64_t done = 0);
  /// So many steps of the stage are done now; `status` stands behind the bar. Rate and time left
  /// are those of the last half minute or so.
  void update(int64_t done, std::string_view status = {});
  /// The stage is over: the bar goes away, or stays as it is and the next one stands below it.
  void end(bool keep = false);
  /// A line of text that stays, above the bar; one '\n' is put after it.
  void print(std::string_view line);
  /// The errno of the first line that couldn't be printed, by any bar of the process; 0 before.
  static int print_error();

  /// Whether the bar is redrawn, on a terminal.
  bool is_live() const { return live_; }

 private:
  void draw(double now, bool at_once);
  void erase();
  std::string text(int columns, bool with_bar) const;
  std::string bar(double part, int cells) const;

  ProgressOptions options_;
  bool live_ = false, colours_ = false, utf8_ = false;
  bool running_ = false, drawn_ = false;
  std::string label_, status_;
  int64_t total_ = 0, done_ = 0;
  double started_ = 0, updated_ = 0, said_ = 0;  // times: of the stage, of a step, of writing
  double steps_ = 0, seconds_ = 0;               // lately, older ones counting less
};

/// "0:02", "12:34", "1:02:03"; "?" for what isn't a time.
std::string duration_text(double seconds);
/// "512M", "4.2G": bytes in units of 1024.
std::string size_text(double bytes);
/// Bytes of memory that this process holds (its resident set), 0 where nobody knows.
uint64_t resident_bytes();

}  // namespace aorta::report
