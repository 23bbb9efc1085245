#include <aorta/mpi/processes.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace aorta::mpi {
namespace {

struct ProcessState {
  char state = 0;  // as ps shows it; 0: there is no such process
  int64_t parent = 0;
};

ProcessState state_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  ProcessState found;
  long long parent = 0;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos ||
      std::sscanf(text.c_str() + name_end + 1, " %c %lld", &found.state, &parent) != 2)
    return {};
  found.parent = parent;
  return found;
}

bool is_stopped(const ProcessState& process) { return std::tolower(process.state) == 't'; }

}  // namespace

bool is_stopped(int64_t pid) { return is_stopped(state_of(std::to_string(pid))); }

std::vector<int64_t> stopped_siblings() {
  std::vector<int64_t> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator one("/proc", ignored), end; !ignored && one != end;
       one.increment(ignored)) {
    const std::string name = one->path().filename().string();
    if (name.empty() || !std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    const ProcessState process = state_of(name);
    if (process.parent == getppid() && is_stopped(process)) found.push_back(std::stoll(name));
  }
  return found;
}

}  // namespace aorta::mpi
