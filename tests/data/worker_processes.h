#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace aorta::data {

/// A process as /proc shows it.
struct ProcessEntry {
  int pid = 0, parent = 0;
  char state = 0;
  std::string name;
};

inline std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> found;
  DIR* folder = opendir("/proc");
  while (const dirent* entry = readdir(folder)) {
    std::ifstream file("/proc/" + std::string(entry->d_name) + "/stat");
    std::string line;
    if (!std::isdigit(entry->d_name[0]) || !std::getline(file, line)) continue;
    const size_t open = line.find('('), close = line.rfind(')');
    ProcessEntry process;
    process.pid = std::atoi(entry->d_name);
    process.name = line.substr(open + 1, close - open - 1);
    process.state = line[close + 2];
    process.parent = std::atoi(line.c_str() + close + 4);
    found.push_back(process);
  }
  closedir(folder);
  return found;
}

/// Everything that descends from `root` and runs.
inline std::vector<ProcessEntry> descendants(int root = getpid()) {
  const auto all = all_processes();
  std::set<int> family{root};
  std::vector<ProcessEntry> found;
  for (bool grown = true; grown;) {
    grown = false;
    for (const ProcessEntry& process : all)
      if (family.count(process.parent) && family.insert(process.pid).second) {
        grown = true;
        if (process.state != 'Z') found.push_back(process);
      }
  }
  return found;
}

/// Lists processes whose name starts so: "aorta-work", "aorta-nursery", "aorta-zygote".
inline std::vector<int> pids_of(const std::string& name, int root = getpid()) {
  std::vector<int> pids;
  for (const ProcessEntry& process : descendants(root))
    if (process.name.rfind(name, 0) == 0) pids.push_back(process.pid);
  return pids;
}

/// The parent of the workers, of which there are `workers`.
inline int nursery_pid(size_t workers) {
  for (int tries = 0; tries < 1000; ++tries) {
    for (const ProcessEntry& process : descendants())
      if (process.name.rfind("aorta-work", 0) == 0 && pids_of("aorta-work").size() == workers)
        return process.parent;
    usleep(1000);
  }
  return 0;
}

inline bool is_alive(int pid) {
  for (const ProcessEntry& process : all_processes())
    if (process.pid == pid) return process.state != 'Z' && process.state != 'X';
  return false;
}

/// Waits up to `seconds` for `condition`.
template <class Condition>
bool within(double seconds, const Condition& condition) {
  for (double waited = 0; waited < seconds; waited += 0.005) {
    if (condition()) return true;
    usleep(5000);
  }
  return condition();
}

inline size_t open_descriptors() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

/// Memory of a process, in KiB, shared pages by their share. (But for pages of files, which other
/// programs map, too, and which change with those.)
inline int64_t pss_kib(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  int64_t sum = 0, value = 0;
  for (std::string word; file >> word;)
    if ((word == "Pss_Anon:" || word == "Pss_Shmem:") && file >> value) sum += value;
  return sum;
}

}  // namespace aorta::data
