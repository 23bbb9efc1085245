#include <aorta/core/clock.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/device_ranges.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/io/file.h>
#include <aorta/core/module_path.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>

#include <nlohmann/json.hpp>

namespace aorta {
namespace detail {

std::atomic<bool> profiling = false;

}  // namespace detail

namespace {

// The ranges of one thread; the lock is for the end of a profiler, which comes from another.
struct ThreadRanges {
  std::mutex mutex;
  uint32_t run = 0;  // whose ranges these are
  std::vector<ProfiledRange> ranges;
};

struct Recorder {
  std::mutex mutex;
  std::vector<std::shared_ptr<ThreadRanges>> threads;  // of the present run, by number
  std::atomic<uint32_t> run = 0;
  std::atomic<int64_t> start_ns = 0;
};

Recorder& recorder() {
  static Recorder* const one = new Recorder;  // threads may end after main
  return *one;
}

// This thread's list, empty and known to the recorder when a new run has begun.
ThreadRanges& ranges_of_thread() {
  static thread_local const auto mine = std::make_shared<ThreadRanges>();
  Recorder& all = recorder();
  if (mine->run != all.run.load()) {
    const std::lock_guard of_all(all.mutex);
    const std::lock_guard of_mine(mine->mutex);
    mine->ranges.clear();
    mine->run = all.run.load();
    all.threads.push_back(mine);
  }
  return *mine;
}

std::string shapes_of(std::initializer_list<const Tensor*> inputs) {
  std::string text;
  for (const Tensor* input : inputs) {
    if (!input || !input->defined()) continue;
    if (!text.empty()) text += ", ";
    text += to_string(input->shape());
  }
  return text;
}

// Elements that an expanded tensor repeats are read once.
int64_t bytes_of(const Tensor& tensor) {
  return std::min(tensor.nbytes(), tensor.storage()->size_bytes());
}

// What this thread has allocated, but for what a range that has ended counts as its own.
thread_local constinit int64_t claimed_by_thread = 0;
int64_t unclaimed_bytes() { return bytes_allocated_by_thread() - claimed_by_thread; }

std::string milliseconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%10.3f", static_cast<double>(ns) * 1e-6);
  return text;
}

std::string calls_and_share(int64_t calls, int64_t part, int64_t all) {
  char text[96];
  std::snprintf(text, sizeof text, " %10lld %6.1f%% ", static_cast<long long>(calls),
                100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(all, 1)));
  return text;
}

std::string padded(const std::string& name, size_t width) {
  return name + std::string(width - name.size(), ' ');
}

// A line a device and name, the longest first.
std::string device_table(const std::vector<DeviceRange>& ranges) {
  struct Line {
    int64_t calls = 0, total = 0;
  };
  std::map<std::string, Line> lines;
  int64_t all = 0;
  size_t width = 9;
  for (const DeviceRange& range : ranges) {
    const std::string name = to_string(range.device) + " " + range.name;
    width = std::max(width, name.size());
    Line& line = lines[name];
    ++line.calls;
    line.total += range.duration_ns;
    all += range.duration_ns;
  }
  if (lines.empty()) return "";
  std::vector<std::pair<std::string, Line>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  std::string text =
      "\n" + padded("on device", width) + "      calls   share    total ms     mean ms\n";
  for (const auto& [name, line] : sorted) {
    text += padded(name, width) + calls_and_share(line.calls, line.total, all) +
            milliseconds(line.total) + "  " + milliseconds(line.total / line.calls) + "\n";
  }
  return text;
}

// A device is a process of the trace and a stream its thread, each with its name.
void add_device_events(nlohmann::json& events, const std::vector<DeviceRange>& ranges) {
  std::map<std::pair<int, int>, bool> named;
  const auto name = [&](int process, int thread, const char* what, const std::string& text) {
    events.push_back({{"ph", "M"},
                      {"pid", process},
                      {"tid", thread},
                      {"name", what},
                      {"args", {{"name", text}}}});
  };
  for (const DeviceRange& range : ranges) {
    const int process = 1 + range.device.index;  // 0 is the host
    if (!std::exchange(named[{process, range.stream}], true)) {
      if (range.stream == 0) name(process, 0, "process_name", to_string(range.device));
      name(process, range.stream, "thread_name", "stream " + std::to_string(range.stream));
    }
    nlohmann::json event = {{"ph", "X"},
                            {"pid", process},
                            {"tid", range.stream},
                            {"name", range.name},
                            {"ts", static_cast<double>(range.start_ns) * 1e-3},
                            {"dur", static_cast<double>(range.duration_ns) * 1e-3}};
    if (!range.module.empty()) event["args"]["module"] = range.module;
    events.push_back(std::move(event));
  }
}

}  // namespace

struct Profiler::State {
  std::vector<ProfiledRange> ranges;
  std::vector<DeviceRange> device_ranges;
  std::optional<detail::DeviceNotes> notes;  // until they are read
  bool running = true;
};

Profiler::Profiler() : state_(std::make_unique<State>()) {
  Recorder& all = recorder();
  {
    const std::lock_guard lock(all.mutex);
    check(!detail::profiling.load(), "profiler", "one profiler may run at a time", "a second one");
    all.threads.clear();
    ++all.run;
    all.start_ns = nanoseconds_now();
    detail::start_device_notes(all.start_ns);
    detail::profiling = true;
  }
  ranges_of_thread();  // thread 0
}

Profiler::~Profiler() { stop(); }

void Profiler::stop() {
  if (!state_->running) return;
  state_->running = false;
  detail::profiling = false;
  state_->notes = detail::take_device_notes();
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  for (size_t thread = 0; thread < all.threads.size(); ++thread) {
    const std::lock_guard of_thread(all.threads[thread]->mutex);
    for (ProfiledRange& range : all.threads[thread]->ranges) {
      range.thread = static_cast<int>(thread);
      if (range.duration_ns < 0)
        range.duration_ns = nanoseconds_now() - all.start_ns - range.start_ns;
      state_->ranges.push_back(std::move(range));
    }
    all.threads[thread]->ranges.clear();
  }
  ++all.run;  // ranges that are still open belong to nobody
  std::stable_sort(
      state_->ranges.begin(), state_->ranges.end(),
      [](const ProfiledRange& a, const ProfiledRange& b) { return a.start_ns < b.start_ns; });
}

const std::vector<ProfiledRange>& Profiler::ranges() const {
  check(!state_->running, "profiler", "it must be stopped before it is read", "one that runs");
  return state_->ranges;
}

const std::vector<DeviceRange>& Profiler::device_ranges() const {
  check(!state_->running, "profiler", "it must be stopped before it is read", "one that runs");
  if (state_->notes) {
    state_->device_ranges = state_->notes->read();
    state_->notes.reset();
  }
  return state_->device_ranges;
}

std::string Profiler::table() const {
  struct Line {
    int64_t calls = 0, total = 0, own = 0;
  };
  using Key = std::pair<std::string, std::string>;  // name, shapes
  std::map<Key, Line> lines;
  const auto line_of = [&](const ProfiledRange& range) -> Line& {
    return lines[{range.name, range.shapes}];
  };
  std::map<int, std::vector<const ProfiledRange*>> open;  // by thread, the outermost first
  int64_t all = 0;
  for (const ProfiledRange& range : ranges()) {
    std::vector<const ProfiledRange*>& outer = open[range.thread];
    while (!outer.empty() && outer.back()->start_ns + outer.back()->duration_ns <= range.start_ns) {
      outer.pop_back();
    }
    if (outer.empty())
      all += range.duration_ns;
    else
      line_of(*outer.back()).own -= range.duration_ns;
    outer.push_back(&range);
    Line& line = line_of(range);
    ++line.calls;
    line.total += range.duration_ns;
    line.own += range.duration_ns;
  }
  std::vector<std::pair<Key, Line>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.own > b.second.own; });
  size_t width = 4;
  for (const auto& [key, line] : sorted) width = std::max(width, key.first.size());
  std::string text =
      padded("name", width) + "      calls   share     own ms    total ms     mean ms  shapes\n";
  for (const auto& [key, line] : sorted) {
    text += padded(key.first, width) + calls_and_share(line.calls, line.own, all) +
            milliseconds(line.own) + "  " + milliseconds(line.total) + "  " +
            milliseconds(line.total / line.calls);
    text += key.second.empty() ? "\n" : "  " + key.second + "\n";
  }
  return text + device_table(device_ranges());
}

void Profiler::write_trace(const Text& path) const {
  nlohmann::json events = nlohmann::json::array();
  for (const ProfiledRange& range : ranges()) {
    nlohmann::json event = {{"ph", "X"},
                            {"pid", 0},
                            {"tid", range.thread},
                            {"name", range.name},
                            {"ts", static_cast<double>(range.start_ns) * 1e-3},
                            {"dur", static_cast<double>(range.duration_ns) * 1e-3}};
    if (!range.shapes.empty()) event["args"]["shapes"] = range.shapes;
    if (!range.module.empty()) event["args"]["module"] = range.module;
    events.push_back(std::move(event));
  }
  add_device_events(events, device_ranges());
  io::AtomicFile file(path);
  file.write(nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump());
  file.commit();
}

void ProfilerRange::begin(const char* name, std::initializer_list<const Tensor*> inputs,
                          const char* suffix) {
  ThreadRanges& mine = ranges_of_thread();
  ProfiledRange range;
  range.name = std::string(name) + suffix;
  if (const auto& path = module_path()) range.module = path->to_string();
  range.shapes = shapes_of(inputs);
  for (const Tensor* input : inputs) {
    if (*suffix == '\0' && input && input->defined()) range.bytes += bytes_of(*input);
  }
  allocated_ = unclaimed_bytes();
  if (DeviceBackend* const device = loaded_backend(DeviceType::cuda)) {
    device->begin_range(range.name.c_str());
    told_ = true;
  }
  range.duration_ns = -1;  // open
  range.start_ns = nanoseconds_now() - recorder().start_ns;
  const std::lock_guard lock(mine.mutex);
  run_ = mine.run;
  place_ = mine.ranges.size();
  mine.ranges.push_back(std::move(range));
  open_ = true;
}

void ProfilerRange::end() {
  const int64_t end_ns = nanoseconds_now();
  if (told_) loaded_backend(DeviceType::cuda)->end_range();
  ThreadRanges& mine = ranges_of_thread();
  const std::lock_guard lock(mine.mutex);
  if (mine.run != run_ || place_ >= mine.ranges.size()) return;  // the profiler has stopped
  ProfiledRange& range = mine.ranges[place_];
  range.duration_ns = end_ns - recorder().start_ns - range.start_ns;
  const int64_t own = unclaimed_bytes() - allocated_;
  if (range.bytes == 0) return;
  range.bytes += own;
  claimed_by_thread += own;
}

void ProfilerRange::count(int64_t multiply_adds, int64_t bytes) const {
  if (!open_) return;
  ThreadRanges& mine = ranges_of_thread();
  const std::lock_guard lock(mine.mutex);
  if (mine.run != run_ || place_ >= mine.ranges.size()) return;
  mine.ranges[place_].multiply_adds += multiply_adds;
  mine.ranges[place_].bytes += bytes;
}

}  // namespace aorta
