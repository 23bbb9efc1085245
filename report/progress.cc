#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <aorta/core/clock.h>
#include <aorta/core/io/bytes.h>
#include <aorta/report/progress.h>

namespace aorta::report {
namespace {

constexpr double kRedraw = 0.1;    // seconds between two pictures of the bar
constexpr double kHeartbeat = 30;  // seconds of silence in a file
constexpr double kMemory = 15;     // seconds after which a step counts 1/e for the rate
constexpr int kCells = 24;         // of the bar at most
constexpr int kFewestCells = 4;    // fewer say nothing
constexpr const char* kErase = "\r\x1b[K";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? columns : 80;
}

// All of it, as long as the other end takes it; false where it doesn't, with errno.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      if (::poll(&ready, 1, 1000) <= 0) {
        errno = EAGAIN;
        return false;
      }
    } else if (!(count < 0 && errno == EINTR)) {
      return false;
    }
  }
  return true;
}

std::atomic<int> first_error{0};

// Calls f(letter, columns) for each letter: UTF-8's as a terminal shows them, others '?'.
template <class F>
void each_letter(std::string_view text, bool utf8, const F& f) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t size = utf8_length(text.substr(at));
    const std::string_view letter = text.substr(at, std::max<size_t>(size, 1));
    at += letter.size();
    if (size == 1) {
      f(first < 0x20 || first == 0x7f ? std::string_view(" ") : letter, 1);
      continue;
    }
    uint32_t code = first & (0xffu >> (size + 1));
    for (const char c : letter.substr(1))
      code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
    // C1 control characters steer terminals; East Asian letters and emoji are two columns wide.
    const bool shown = utf8 && size > 0 && code >= 0xa0;
    const bool wide = code >= 0x2e80 || (code >= 0x1100 && code < 0x1160);
    f(shown ? letter : std::string_view("?"), shown && wide ? 2 : 1);
  }
}

int width_of(std::string_view text, bool utf8) {
  int width = 0;
  each_letter(text, utf8, [&](std::string_view, int columns) { width += columns; });
  return width;
}

// What can be shown of a text, cut off after so many columns.
std::string shown(std::string_view text, bool utf8, int columns) {
  std::string out;
  int width = 0;
  bool full = false;
  each_letter(text, utf8, [&](std::string_view letter, int wide) {
    full = full || width + wide > columns;
    if (full) return;
    out += letter;
    width += wide;
  });
  return out;
}

std::string rate_text(double rate) {
  if (!(rate > 0) || !std::isfinite(rate)) return "?it/s";
  if (rate >= 99.95) return fmt::format("{:.0f}it/s", std::min(rate, 1e9));
  return rate >= 1 ? fmt::format("{:.1f}it/s", rate) : fmt::format("{:.1f}s/it", 1 / rate);
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto whole = static_cast<int64_t>(seconds);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string size_text(double bytes) {
  if (!(bytes >= 0)) return "?";
  const char* unit = "B";
  for (const char* next : {"K", "M", "G", "T", "P"}) {
    if (bytes < 999.5) break;
    bytes /= 1024;
    unit = next;
  }
  const int decimals = bytes < 9.95 && *unit != 'B';
  return fmt::format("{:.{}f}{}", bytes, decimals, unit);
}

uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  if (!(in >> all >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

ProgressBar::ProgressBar(const ProgressOptions& options) : options_(options) {
  if (!options_.clock) options_.clock = seconds_now;
  const std::string terminal = environment("TERM");
  live_ = !options_.quiet && isatty(options_.bar) == 1 && !terminal.empty() && terminal != "dumb";
  colours_ = live_ && environment("NO_COLOR").empty();
  utf8_ = locale_is_utf8();
  said_ = options_.clock();
}

ProgressBar::~ProgressBar() {
  if (drawn_) write_all(options_.bar, "\n");
}

void ProgressBar::start(std::string_view label, int64_t total, int64_t done) {
  label_ = label;
  status_.clear();
  total_ = std::max<int64_t>(0, total);
  done_ = std::max<int64_t>(0, done);
  steps_ = seconds_ = 0;
  started_ = updated_ = options_.clock();
  running_ = true;
  draw(started_, true);
}

void ProgressBar::update(int64_t done, std::string_view status) {
  if (!running_) return;
  done = std::max<int64_t>(0, done);
  const double now = options_.clock();
  if (done > done_ && now > updated_) {
    const double keep = std::exp((updated_ - now) / kMemory);
    steps_ = steps_ * keep + static_cast<double>(done - done_);
    seconds_ = seconds_ * keep + (now - updated_);
    updated_ = now;
  }
  done_ = done;
  status_ = status;
  draw(now, false);
}

void ProgressBar::draw(double now, bool at_once) {
  if (options_.quiet) return;
  if (live_) {
    if (!at_once && now - said_ < kRedraw) return;
    write_all(options_.bar, "\r" + text(columns_of(options_.bar) - 1, true) + "\x1b[K");
    drawn_ = true;
  } else {
    if (now - said_ < kHeartbeat) return;
    write_all(options_.bar, text(1000, false) + "\n");
  }
  said_ = now;
}

void ProgressBar::erase() {
  if (!drawn_) return;
  write_all(options_.bar, kErase);
  drawn_ = false;
}

void ProgressBar::end(bool keep) {
  if (!running_) return;
  if (drawn_ && keep) {
    draw(options_.clock(), true);
    write_all(options_.bar, "\n");
    drawn_ = false;
  }
  erase();
  running_ = false;
}

int ProgressBar::print_error() { return first_error.load(); }

void ProgressBar::print(std::string_view line) {
  const bool was_drawn = drawn_;
  erase();
  if (options_.lines == 1) std::fflush(stdout);  // what the program printed before stays before
  int none = 0;
  if (!write_all(options_.lines, std::string(line) + "\n"))
    first_error.compare_exchange_strong(none, errno);
  const double now = options_.clock();
  said_ = now;
  if (was_drawn && running_) draw(now, true);
}

std::string ProgressBar::bar(double part, int cells) const {
  const int halves = static_cast<int>(part * 2 * cells);
  std::string full, rest;
  for (int i = 0; i < halves / 2; ++i) full += utf8_ ? "━" : "=";
  if (halves % 2 == 1) full += utf8_ ? "╸" : ">";
  for (int i = (halves + 1) / 2; i < cells; ++i) rest += utf8_ ? "─" : "-";
  if (!colours_) return full + rest;
  return "\x1b[36m" + full + "\x1b[0m\x1b[2m" + rest + "\x1b[0m";
}

std::string ProgressBar::text(int columns, bool with_bar) const {
  const double now = options_.clock();
  const double rate = seconds_ > 0 ? steps_ / seconds_ : 0;
  std::string left = label_, count, remaining;
  double part = 0;
  if (total_ > 0) {
    part = std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0., 1.);
    left += fmt::format(" {:3}%", static_cast<int>(part * 100));
    // As wide as it will be, so that the bar doesn't jump.
    count = fmt::format("{:>{}}/{} ", done_, std::to_string(total_).size(), total_);
    const auto missing = static_cast<double>(std::max<int64_t>(0, total_ - done_));
    remaining = "<" + duration_text(missing == 0 ? 0 : rate > 0 ? missing / rate : -1);
  } else {
    count = fmt::format("{} ", done_);
  }
  count += rate_text(rate) + " ";
  const std::string status = status_.empty() ? "" : " " + status_;
  const std::string whole = count + duration_text(now - started_) + remaining + status;
  if (!with_bar || total_ == 0) return shown(left + " " + whole, utf8_, columns);
  // Where there is too little room the time that has passed gives way first, then the bar.
  const std::string brief = count + remaining + status;
  for (const std::string& right : {whole, brief}) {
    const int room = columns - width_of(left, utf8_) - width_of(right, utf8_) - 2;
    const int cells = std::min(room, kCells);
    if (cells >= kFewestCells)
      return shown(left, utf8_, columns) + " " + bar(part, cells) + " " +
             shown(right, utf8_, columns);
  }
  return shown(left + " " + brief, utf8_, columns);
}

}  // namespace aorta::report
