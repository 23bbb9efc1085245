#include <aorta/tools/echo/interrupt.h>

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace aorta::echo {
namespace {

std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int number) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number)) _exit(128 + number);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int interrupted() { return first_signal.load(); }

}  // namespace aorta::echo
