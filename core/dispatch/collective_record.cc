#include <aorta/core/clock.h>
#include <aorta/core/comm.h>
#include <aorta/core/dispatch/profiler.h>

#include <algorithm>
#include <cmath>

namespace aorta {
namespace {

constexpr const char* kCollectiveNames[] = {"all_reduce", "broadcast", "all_gather",
                                            "reduce_scatter", "barrier"};

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

// Milliseconds with three digits.
std::string milliseconds(int64_t nanoseconds) {
  std::string text;
  detail::append(text, std::round(static_cast<double>(nanoseconds) * 1e-3) * 1e-3);
  return text + " ms";
}

// Whether a range is a collective's, or what waits for one ("all_reduce waits").
bool is_of_collectives(const std::string& name) {
  return std::any_of(std::begin(kCollectiveNames), std::end(kCollectiveNames),
                     [&](const std::string collective) {
                       return name.starts_with(collective) &&
                              (name.size() == collective.size() || name[collective.size()] == ' ');
                     });
}

}  // namespace

std::string to_string(Collective collective) {
  return kCollectiveNames[static_cast<size_t>(collective)];
}

std::string to_string(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "mean", "min", "max"};
  return kNames[static_cast<size_t>(op)];
}

std::string CollectiveRecord::call() const {
  std::string text = to_string(collective) + " ";
  detail::append(text, number);
  if (collective == Collective::barrier) return text;
  text += " of " + to_string(dtype) + " " + to_string(shape) + parts;
  if (reduces(collective)) text += ", " + to_string(op);
  if (collective == Collective::broadcast) {
    text += ", from rank ";
    detail::append(text, int64_t{root});
  }
  return subject.empty() ? text : text + ", for " + subject;
}

std::string to_string(const CollectiveRecord& record) {
  std::string text = record.call() + ", ";
  detail::append(text, record.bytes);
  text += " bytes";
  if (!record.engine.empty()) text += ", by " + record.engine;
  if (!record.path.empty()) text += ", in " + record.path;
  if (record.left_ns == 0)
    return text + ", for " + milliseconds(nanoseconds_now() - record.entered_ns) + " so far";
  return text + ", took " + milliseconds(record.left_ns - record.entered_ns);
}

double collective_share(const Profiler& profiler) {
  int64_t waited = 0, waited_until = 0, first = -1, last = 0;
  for (const ProfiledRange& range : profiler.ranges()) {
    if (range.thread != 0) continue;
    const int64_t end = range.start_ns + range.duration_ns;
    if (first < 0) first = range.start_ns;
    last = std::max(last, end);
    if (end <= waited_until || !is_of_collectives(range.name)) continue;  // or it has been counted
    waited += range.duration_ns;
    waited_until = end;
  }
  return last > first ? static_cast<double>(waited) / static_cast<double>(last - first) : 0;
}

}  // namespace aorta
