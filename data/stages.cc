#include <aorta/core/clock.h>
#include <aorta/data/stages.h>

namespace aorta::data {
namespace {

struct Clock {
  StageTimes times;
  int stage = -1;
  int64_t since = 0;
};

thread_local constinit Clock clock_of_thread;

// Books the time up to now and goes on in `stage`; returns the one before.
int enter(int stage) {
  Clock& clock = clock_of_thread;
  const int64_t time = nanoseconds_now();
  if (clock.stage >= 0) clock.times.nanoseconds[clock.stage] += time - clock.since;
  const int before = clock.stage;
  clock.stage = stage;
  clock.since = time;
  return before;
}

}  // namespace

StageScope::StageScope(Stage stage) : outer_(enter(static_cast<int>(stage))) {}
StageScope::~StageScope() { enter(outer_); }
StageTimes stage_times() { return clock_of_thread.times; }

}  // namespace aorta::data
