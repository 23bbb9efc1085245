#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

#include <aorta/report/progress.h>

namespace aorta::report {
namespace {

double now = 0;
double fake_clock() { return now; }

// What a terminal of that width shows: lines of letters, and whether any line wrapped.
struct Screen {
  explicit Screen(int width) : columns(width) {}
  void take(const std::string& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const char c = bytes[i];
      if (c == '\r') {
        at = 0;
      } else if (c == '\n') {
        lines.emplace_back();
      } else if (c == '\x1b') {
        size_t end = i + 2;
        ASSERT_EQ(bytes.at(i + 1), '[');
        while (std::string_view("0123456789;?").find(bytes.at(end)) != std::string_view::npos)
          ++end;
        if (bytes[end] == 'K')
          lines.back().resize(std::min(at, lines.back().size()));
        else if (bytes[end] == 'm')
          coloured = true, plain = bytes.substr(i, end - i) == "\x1b[0";
        else
          ADD_FAILURE() << "an escape sequence: " << bytes.substr(i + 1, end - i);
        i = end;
      } else {
        size_t size = 1;
        while (i + size < bytes.size() && (bytes[i + size] & 0xc0) == 0x80) ++size;
        std::vector<std::string>& line = lines.back();
        if (line.size() <= at) line.resize(at + 1, " ");
        const std::string letter = bytes.substr(i, size);
        line[at++] = letter;
        if (std::string("日本語").find(letter) != std::string::npos) {  // two columns wide
          line.resize(std::max(line.size(), at + 1), "");
          line[at++] = "";
        }
        wrapped = wrapped || at >= static_cast<size_t>(columns);
        i += size - 1;
      }
    }
  }
  std::string line(size_t index) const {
    std::string text;
    for (const std::string& letter : lines.at(index)) text += letter;
    return text;
  }
  std::string last() const { return line(lines.size() - 1); }

  int columns;
  std::vector<std::vector<std::string>> lines{{}};
  size_t at = 0;
  bool wrapped = false, coloured = false, plain = true;
};

// A terminal or a pipe, and the bytes that came out at its other end.
class Progress : public testing::Test {
 protected:
  Progress() {
    for (const char* name : {"TERM", "LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "COLUMNS"}) {
      const char* value = std::getenv(name);
      before[name] = value ? value : "";
      unsetenv(name);
    }
    setenv("TERM", "xterm-256color", 1);
    setenv("LANG", "en_GB.UTF-8", 1);
    now = 1000;
  }
  ~Progress() override {
    for (const auto& [name, value] : before)
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    for (const int descriptor : {near, far})
      if (descriptor >= 0) close(descriptor);
  }
  void terminal(int columns) {
    winsize size{24, static_cast<unsigned short>(columns), 0, 0};
    termios raw{};
    cfmakeraw(&raw);  // bytes arrive as they are written
    ASSERT_EQ(openpty(&far, &near, nullptr, &raw, &size), 0);
    fcntl(far, F_SETFL, O_NONBLOCK);
  }
  void resize(int columns) {
    winsize size{24, static_cast<unsigned short>(columns), 0, 0};
    ASSERT_EQ(ioctl(near, TIOCSWINSZ, &size), 0);
  }
  void pipe() {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
    far = ends[0], near = ends[1];
  }
  std::string output() {
    std::string all;
    char buffer[4096];
    for (ssize_t count; (count = read(far, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<size_t>(count));
    return all;
  }
  ProgressOptions options() const { return {.bar = near, .lines = near, .clock = fake_clock}; }

  int near = -1, far = -1;
  std::map<std::string, std::string> before;
};

TEST_F(Progress, IsOneLineOnATerminal) {
  terminal(100);
  setenv("NO_COLOR", "1", 1);
  Screen screen(100);
  ProgressBar bar(options());
  EXPECT_TRUE(bar.is_live());
  bar.start("epoch  3/50 train", 8);
  screen.take(output());
  EXPECT_EQ(screen.last(), "epoch  3/50 train   0% ──────────────────────── 0/8 ?it/s 0:00<?");
  for (int step = 1; step <= 5; ++step) {
    now += 0.5;
    bar.update(step, "loss 0.142 dice 0.871");
  }
  screen.take(output());
  // 5 of 8 steps are 62.5 %, 15 of 24 cells; two steps a second leave 1.5 s.
  EXPECT_EQ(screen.last(),
            "epoch  3/50 train  62% ━━━━━━━━━━━━━━━───────── 5/8 2.0it/s 0:02<0:01 loss 0.142 dice "
            "0.871");
  EXPECT_EQ(screen.lines.size(), 1u);
  EXPECT_FALSE(screen.coloured);
  bar.end();
  screen.take(output());
  EXPECT_EQ(screen.last(), "");
  bar.print("epoch  3/50 loss 0.131");
  screen.take(output());
  EXPECT_EQ(screen.line(0), "epoch  3/50 loss 0.131");
  EXPECT_FALSE(screen.wrapped);
}

TEST_F(Progress, RedrawsTenTimesASecondAtMost) {
  terminal(100);
  ProgressBar bar(options());
  bar.start("train", 100000);
  for (int step = 1; step <= 10000; ++step) {
    now += 0.0005;
    bar.update(step);
  }
  const std::string bytes = output();
  const auto pictures = std::count(bytes.begin(), bytes.end(), '\r');
  EXPECT_LE(pictures, 51);
  EXPECT_GE(pictures, 45);
  EXPECT_EQ(bytes.find('\n'), std::string::npos);
}

TEST_F(Progress, NeverWraps) {
  terminal(100);
  std::string label = "epoch  3/50 train", status = "loss 0.142 – dice 0.871 日本語";
  for (const int columns : {200, 100, 80, 60, 41, 40, 30, 20, 10, 5, 2, 1}) {
    resize(columns);
    Screen screen(columns);
    {
      ProgressBar bar(options());
      bar.start(label, 8);
      now += 1;
      bar.update(3, status);
      now += 1;
      bar.update(4, status + "\r\n\x1b[2J\t\x07");
      const std::string bytes = output();
      screen.take(bytes);
      EXPECT_FALSE(screen.wrapped) << columns;
      EXPECT_EQ(screen.lines.size(), 1u) << columns;
    }
    output();
  }
}

TEST_F(Progress, ShowsWhatIsNoLetterAsQuestionMarks) {
  terminal(120);
  setenv("NO_COLOR", "1", 1);
  ProgressBar bar(options());
  bar.start("\xc3\xa4\xff \xed\xa0\x80", 4);  // a letter, a byte that starts none, a surrogate
  now += 1;
  bar.update(2, "\xc2\x9b\xe2\x82");  // a control character of two bytes, half a letter
  Screen screen(120);
  screen.take(output());
  EXPECT_EQ(screen.last(), "ä? ???  50% ━━━━━━━━━━━━──────────── 2/4 2.0it/s 0:01<0:01 ???");
}

TEST_F(Progress, FollowsTheTerminalsWidth) {
  terminal(120);
  setenv("NO_COLOR", "1", 1);
  ProgressBar bar(options());
  bar.start("train", 4);
  now += 1;
  bar.update(2, "loss 1");
  Screen wide(120);
  wide.take(output());
  EXPECT_EQ(wide.last(), "train  50% ━━━━━━━━━━━━──────────── 2/4 2.0it/s 0:01<0:01 loss 1");
  resize(50);
  now += 1;
  bar.update(3, "loss 1");
  Screen medium(50);
  medium.take(output());
  EXPECT_EQ(medium.last(), "train  75% ━━━━━━╸── 3/4 1.5it/s 0:02<0:00 loss 1");
  resize(30);
  now += 1;
  bar.update(3, "loss 1");
  Screen narrow(30);
  narrow.take(output());
  EXPECT_EQ(narrow.last(), "train  75% 3/4 1.5it/s <0:00 ");
}

// The line of a long training on the usual terminal has all it is for: the bar, the rate, the time
// left, and what the program says.
TEST_F(Progress, FitsEightyColumns) {
  terminal(80);
  setenv("NO_COLOR", "1", 1);
  Screen screen(80);
  ProgressBar bar(options());
  bar.start("epoch 10/50 train", 372);
  for (int step = 1; step <= 186; ++step) {
    now += 4;
    bar.update(step, "loss 0.0524 dice 0.871 1.3G");
    screen.take(output());  // or the terminal's buffer fills up
  }
  EXPECT_EQ(screen.last(),
            "epoch 10/50 train  50% ━━╸── 186/372 4.0s/it <12:24 loss 0.0524 dice 0.871 1.3G");
}

TEST_F(Progress, EndsItsLineWhenAnExceptionPasses) {
  terminal(80);
  Screen screen(80);
  try {
    ProgressBar bar(options());
    bar.start("train", 10);
    now += 1;
    bar.update(4);
    throw std::runtime_error("diverged");
  } catch (const std::runtime_error&) {
  }
  screen.take(output());
  ASSERT_EQ(screen.lines.size(), 2u);
  EXPECT_EQ(screen.line(0).substr(0, 10), "train  40%");  // where it stopped
  EXPECT_EQ(screen.last(), "");
  EXPECT_TRUE(screen.plain);
}

TEST_F(Progress, LeavesColoursAsTheyWere) {
  terminal(80);
  Screen screen(80);
  ProgressBar bar(options());
  bar.start("train", 2);
  screen.take(output());
  EXPECT_TRUE(screen.coloured);
  EXPECT_TRUE(screen.plain);
  now += 1;
  bar.update(2);
  bar.end(true);
  screen.take(output());
  EXPECT_TRUE(screen.plain);
  EXPECT_EQ(screen.lines.size(), 2u);
  EXPECT_EQ(screen.line(0).substr(0, 10), "train 100%");
}

TEST_F(Progress, PrintsLinesAboveTheBar) {
  terminal(80);
  Screen screen(80);
  ProgressBar bar(options());
  bar.start("train", 10);
  bar.print("a warning");
  screen.take(output());
  EXPECT_EQ(screen.line(0), "a warning");
  EXPECT_EQ(screen.last().substr(0, 10), "train   0%");
}

TEST_F(Progress, IsPlainLinesInAPipe) {
  pipe();
  {
    ProgressBar bar(options());
    EXPECT_FALSE(bar.is_live());
    bar.start("epoch  1/2 train", 8);
    for (int step = 1; step <= 8; ++step) {
      now += 5;
      bar.update(step, "loss 0.5 µ");
    }
    bar.end();
    bar.print("epoch  1/2 loss 0.5");
  }
  EXPECT_EQ(output(),
            "epoch  1/2 train  75% 6/8 5.0s/it 0:30<0:10 loss 0.5 µ\nepoch  1/2 loss 0.5\n");
}

TEST_F(Progress, BeatsEveryThirtySecondsOfSilence) {
  pipe();
  setenv("LANG", "C", 1);
  ProgressBar bar(options());
  bar.start("train", 1000);
  for (int step = 1; step <= 100; ++step) {
    now += 1;
    bar.update(step, "µ");
    if (step == 45) bar.print("a line");
  }
  // At 30 s; the line of 45 s puts the next one off to 75 s.
  EXPECT_EQ(output(),
            "train   3%   30/1000 1.0it/s 0:30<16:10 ?\na line\n"
            "train   7%   75/1000 1.0it/s 1:15<15:25 ?\n");
}

TEST_F(Progress, IsPlainOnADumbTerminal) {
  for (const char* kind : {"dumb", ""}) {
    terminal(80);
    setenv("TERM", kind, 1);
    ProgressBar bar(options());
    EXPECT_FALSE(bar.is_live());
    bar.start("train", 10);
    now += 31;
    bar.update(5);
    const std::string bytes = output();
    EXPECT_EQ(bytes.find('\r'), std::string::npos);
    EXPECT_EQ(bytes.find('\x1b'), std::string::npos);
    EXPECT_NE(bytes.find("5/10"), std::string::npos);
    close(near), close(far);
  }
  near = far = -1;
}

TEST_F(Progress, IsSilentWhenAskedTo) {
  terminal(80);
  ProgressOptions quiet = options();
  quiet.quiet = true;
  {
    ProgressBar bar(quiet);
    bar.start("train", 10);
    now += 100;
    bar.update(5);
    bar.end(true);
    bar.print("a line");
  }
  EXPECT_EQ(output(), "a line\n");
}

TEST_F(Progress, DrawsInAsciiWhereTheLocaleIs) {
  setenv("NO_COLOR", "1", 1);
  const std::pair<const char*, const char*> cases[] = {{"LC_ALL", "C"}, {"LANG", "POSIX"}};
  for (const auto& [name, value] : cases) {
    terminal(60);
    unsetenv("LC_ALL");
    setenv(name, value, 1);
    Screen screen(60);
    ProgressBar bar(options());
    bar.start("größe", 16);
    now += 1;
    bar.update(3);
    bar.end(true);
    screen.take(output());
    EXPECT_EQ(screen.line(0), "gr??e  18% ====>-------------------  3/16 3.0it/s 0:01<0:04");
    close(near), close(far);
  }
  near = far = -1;
}

TEST_F(Progress, TheRateIsOfLateAndStepsMayBeSkipped) {
  terminal(100);
  setenv("NO_COLOR", "1", 1);
  Screen screen(100);
  ProgressBar bar(options());
  bar.start("train", 10000, 4000);  // resumed
  screen.take(output());
  EXPECT_NE(screen.last().find(" 4000/10000 ?it/s 0:00<?"), std::string::npos);
  now += 60;  // the first step is slow
  bar.update(4001);
  for (int i = 1; i <= 600; ++i) {
    now += 0.1;
    bar.update(4001 + 2 * i);
    screen.take(output());  // or the terminal's buffer fills up
  }
  screen.take(output());
  const std::string text = screen.last();
  const size_t at = text.find("it/s");
  ASSERT_NE(at, std::string::npos) << text;
  const double rate = std::stod(text.substr(text.rfind(' ', at) + 1));
  EXPECT_GT(rate, 15) << text;  // 20 of late; 10 of all
  EXPECT_LT(rate, 20.1) << text;
}

TEST_F(Progress, SurvivesOddNumbers) {
  terminal(80);
  ProgressBar bar(options());
  bar.update(3, "before a stage");
  bar.end();
  EXPECT_EQ(output(), "");
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const int64_t total : {int64_t{0}, int64_t{-5}, most, int64_t{1}}) {
    bar.start("\xff\xfe\x80 \xf0\x9f", total);
    for (const int64_t done : {int64_t{-1}, most, int64_t{0}, int64_t{2}}) {
      now += 1;
      bar.update(done, std::string("\0\xc3", 2));
    }
    bar.end(true);
  }
  Screen screen(80);
  screen.take(output());
  EXPECT_FALSE(screen.wrapped);
  EXPECT_EQ(screen.lines.size(), 5u);
}

TEST(ProgressText, OfTimes) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(59.99), "0:59");
  EXPECT_EQ(duration_text(754), "12:34");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(93600), "26:00:00");
  for (const double odd : {-1., std::nan(""), double{INFINITY}, 1e300})
    EXPECT_EQ(duration_text(odd), "?");
}

TEST(ProgressText, OfSizes) {
  EXPECT_EQ(size_text(0), "0B");
  EXPECT_EQ(size_text(999), "999B");
  EXPECT_EQ(size_text(1024), "1.0K");
  EXPECT_EQ(size_text(4.2 * 1024 * 1024 * 1024), "4.2G");
  EXPECT_EQ(size_text(512. * 1024 * 1024), "512M");
  EXPECT_EQ(size_text(10.4 * 1024), "10K");
  EXPECT_EQ(size_text(std::nan("")), "?");
  EXPECT_GT(resident_bytes(), uint64_t{1} << 20);
}

}  // namespace
}  // namespace aorta::report
