#include <aorta/apps/echo/interrupt.h>

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace aorta::echo {
namespace {

// `timeout` sends its signal to the program and once more to its group: within this time it is one.
constexpr int64_t kOneSignal = 500'000'000;  // nanoseconds

std::atomic<int> first_signal{0};
std::atomic<int64_t> first_time{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::atomic<bool> on_terminal{false};
std::atomic<bool> lost{false};

// For a person who waits: a step of a large network takes a while.
void say_heard() {
  constexpr char kHeard[] = "\nstopping when this step is done; a second Ctrl-C stops at once\n";
  const int error = errno;
  if (write(STDERR_FILENO, kHeard, sizeof kHeard - 1) < 0) errno = error;
}

// A pipe that nobody reads would be waited for without end. What is being written to it goes to
// /dev/null, with all that follows: SA_RESTART repeats the call that waits, with the same number.
void leave_full_streams() {
  constexpr int kReader = 500;  // milliseconds that it has to make room
  const int error = errno;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    pollfd room{stream, POLLOUT, 0};
    if (poll(&room, 1, kReader) != 0) continue;
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) continue;
    dup2(null, stream);
    close(null);
    lost = true;
  }
  errno = error;
}

extern "C" void note_signal(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    leave_full_streams();
    first_time = nanoseconds();
    if (on_terminal) say_heard();
  } else if (number == SIGXCPU) {
    // It comes again each second.
  } else if (first_time != 0 && nanoseconds() - first_time > kOneSignal) {
    _exit(128 + number);
  }
}

extern "C" void end_at_signal(int number) {
  leave_full_streams();
  for (const char* part : {"error: stopped by ", signal_name(number), ": nothing is half-done\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  _exit(128 + number);
}

void handle_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
  for (const int number : {SIGHUP, SIGXCPU}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

}  // namespace

void catch_interrupts() {
  on_terminal = isatty(STDERR_FILENO) == 1;
  handle_interrupts(note_signal);
  signal(SIGPIPE, SIG_IGN);
}

int interrupted() { return first_signal.load(); }
bool text_is_lost() { return lost.load(); }

void end_on_interrupts() { handle_interrupts(end_at_signal); }

const char* signal_name(int number) {
  switch (number) {
    case SIGINT:
      return "Ctrl-C";
    case SIGHUP:
      return "SIGHUP";
    case SIGXCPU:
      return "SIGXCPU (ulimit -t: no more CPU time)";
    default:
      return "SIGTERM";
  }
}

}  // namespace aorta::echo
