#include <aorta/core/process/limits.h>

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

namespace aorta {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// The first number of a file; none where there is none ("max").
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return {};
}

// The number after the word `key` in a file of "key number" lines.
std::optional<int64_t> number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t number = 0;
    if (word == key && file >> number) return number;
  }
  return {};
}

struct Group {
  std::string folder;
  bool version2 = false;
};

// The folders of the process's groups for one controller, innermost first, up to the root.
std::vector<Group> groups(const std::string& root, const std::string& controller) {
  std::vector<Group> found;
  std::ifstream file(root + "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find("," + controller + ",") == std::string::npos) continue;
    std::string base = root + "sys/fs/cgroup";
    if (!version2) base += "/" + controller;
    // In a container the path may be that of the host; its own group is then the mount's root.
    std::string path = line.substr(second + 1);
    for (;; path = path.substr(0, path.rfind('/'))) {
      if (path == "/") path.clear();
      found.push_back({base + path, version2});
      if (path.empty()) break;
    }
    if (version2) found.push_back({root + "sys/fs/cgroup/unified", true});
  }
  return found;
}

int64_t memory_left(const Group& group) {
  const std::string& folder = group.folder;
  const auto limit =
      number_in(folder + (group.version2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto used =
      number_in(folder + (group.version2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!limit || !used) return kUnlimited;
  const int64_t droppable = number_after(folder + "/memory.stat",
                                         group.version2 ? "inactive_file" : "total_inactive_file")
                                .value_or(0);
  return std::max<int64_t>(0, *limit - *used + droppable);
}

std::optional<double> cpu_quota(const Group& group) {
  int64_t quota = 0, period = 0;
  if (group.version2) {
    std::ifstream file(group.folder + "/cpu.max");
    if (!(file >> quota >> period)) return {};
  } else {
    quota = number_in(group.folder + "/cpu.cfs_quota_us").value_or(-1);
    period = number_in(group.folder + "/cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return {};
  return static_cast<double>(quota) / static_cast<double>(period);
}

}  // namespace

int64_t available_memory_bytes(const std::string& root) {
  int64_t left = kUnlimited;
  if (const auto kib = number_after(root + "proc/meminfo", "MemAvailable:")) left = *kib * 1024;
  for (const Group& group : groups(root, "memory")) left = std::min(left, memory_left(group));
  return left;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown model";
}

int available_cpus(const std::string& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  for (const Group& group : groups(root, "cpu"))
    if (const auto quota = cpu_quota(group))
      cpus = std::min(cpus, static_cast<int>(*quota + 0.999));
  return std::max(cpus, 1);
}

int64_t out_of_memory_kills(const std::string& root) {
  for (const Group& group : groups(root, "memory"))
    if (const auto kills = number_after(
            group.folder + (group.version2 ? "/memory.events" : "/memory.oom_control"), "oom_kill"))
      return *kills;
  return 0;
}

}  // namespace aorta
