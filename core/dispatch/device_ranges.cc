#include <aorta/core/dispatch/device_ranges.h>

#include <aorta/core/clock.h>
#include <aorta/core/module_path.h>
#include <aorta/core/recording.h>

#include <algorithm>
#include <map>
#include <utility>

namespace aorta {
namespace detail {
namespace {

// One lock for the list and the events, so that both have the stream's order.
struct Notebook {
  std::mutex mutex;
  uint32_t run = 0;
  int64_t start_ns = 0;
  DeviceNotes notes;
};

Notebook& notebook() {
  static Notebook* const one = new Notebook;  // threads may end after main
  return *one;
}

thread_local constinit bool within_work = false;

Event recorded(const Stream& stream) {
  DeviceBackend& device = backend(stream.device.type);
  const Event event = device.create_timer(stream.device.index);
  try {
    device.record_event(event, stream);
  } catch (...) {
    device.destroy_timer(event);
    throw;
  }
  return event;
}

void note_base(Notebook& book, Device where) {
  const auto known = [&](const DeviceNotes::Base& base) { return base.device == where; };
  if (std::any_of(book.notes.bases.begin(), book.notes.bases.end(), known)) return;
  DeviceBackend& device = backend(where.type);
  const Stream idle = device.create_stream(where.index);
  try {
    const Event event = recorded(idle);
    book.notes.bases.push_back({where, event, nanoseconds_now() - book.start_ns});
  } catch (...) {
    device.destroy_stream(idle);
    throw;
  }
  device.destroy_stream(idle);
}

// A float of milliseconds is exact to a microsecond for 16 s: times are told from an event that is
// at most a second away.
class Clock {
 public:
  explicit Clock(const DeviceNotes::Base& base) : event_(base.event), at_ns_(base.at_ns) {}
  int64_t at(const Event& event) {
    const int64_t since = backend(event.device.type).nanoseconds_between(event_, event);
    const int64_t result = at_ns_ + since;
    if (since > 1'000'000'000) {
      event_ = event;
      at_ns_ = result;
    }
    return result;
  }

 private:
  Event event_;
  int64_t at_ns_;
};

}  // namespace

DeviceNotes::~DeviceNotes() {
  for (const Base& base : bases) backend(base.device.type).destroy_timer(base.event);
  for (const Work& work : works) {
    for (const Event& event : {work.start, work.end})
      if (event.handle) backend(event.device.type).destroy_timer(event);
  }
}

std::vector<DeviceRange> DeviceNotes::read() {
  check(problem.empty(), "profiler", "the end of all work must be noted", problem);
  struct Track {
    int number = 0;
    int64_t end_ns = 0;  // a stream does one thing at a time
  };
  std::map<std::pair<int, void*>, Track> tracks;  // by device and stream
  std::map<int, int> streams;                     // of each device
  for (const Work& work : works) {
    const auto [track, is_new] =
        tracks.try_emplace({work.stream.device.index, work.stream.handle}, Track{});
    if (!is_new) continue;
    track->second.number = streams[work.stream.device.index]++;
    backend(work.stream.device.type).synchronize_stream(work.stream);
  }
  std::map<int, Clock> clocks;
  for (const Base& base : bases) clocks.emplace(base.device.index, base);
  std::vector<DeviceRange> ranges;
  for (const Work& work : works) {
    if (!work.end.handle) continue;  // still being queued when the profiler stopped
    const Device device = work.stream.device;
    Track& track = tracks.at({device.index, work.stream.handle});
    Clock& clock = clocks.at(device.index);
    const int64_t start = std::max(clock.at(work.start), track.end_ns);
    track.end_ns = std::max(clock.at(work.end), start);
    ranges.push_back({.name = work.name,
                      .module = work.module,
                      .device = device,
                      .stream = track.number,
                      .start_ns = start,
                      .duration_ns = track.end_ns - start});
  }
  return ranges;
}

void start_device_notes(int64_t start_ns) {
  Notebook& book = notebook();
  const std::lock_guard lock(book.mutex);
  ++book.run;
  book.start_ns = start_ns;
}

DeviceNotes take_device_notes() {
  Notebook& book = notebook();
  const std::lock_guard lock(book.mutex);
  ++book.run;  // what is still being queued belongs to nobody
  return std::exchange(book.notes, {});
}

}  // namespace detail

void DeviceWork::begin(const char* name, DeviceType type, void* stream) {
  if (detail::within_work || kernel::Recording::current()) return;
  detail::Notebook& book = detail::notebook();
  const Device device(type, backend(type).current_device());
  const std::lock_guard lock(book.mutex);
  if (!detail::profiling.load()) return;  // it has stopped meanwhile
  detail::note_base(book, device);
  detail::DeviceNotes::Work work;
  work.name = name;
  work.stream = {device, stream};
  if (const auto& path = module_path()) work.module = path->to_string();
  work.start = detail::recorded(work.stream);
  run_ = book.run;
  place_ = book.notes.works.size();
  book.notes.works.push_back(std::move(work));
  detail::within_work = true;
}

void DeviceWork::close(bool done) {
  detail::within_work = false;
  detail::Notebook& book = detail::notebook();
  const std::lock_guard lock(book.mutex);
  const bool ours = book.run == std::exchange(run_, 0);
  if (!ours || !done) return;
  detail::DeviceNotes::Work& work = book.notes.works[place_];
  try {
    work.end = detail::recorded(work.stream);
  } catch (const Error& error) {
    book.notes.problem = error.what();
  }
}

}  // namespace aorta
