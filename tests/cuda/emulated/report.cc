#include <aorta/tests/cuda/emulated/report.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace aorta::emulated {
namespace {

std::mutex mutex;
int collectors = 0;
std::vector<std::string> collected;

}  // namespace

void report(const std::string& call, const std::string& rule, const std::string& got,
            const char* page) {
  if (!std::string_view(page).starts_with("docs.nvidia.com/")) {
    std::fprintf(stderr,
                 "emulated device: a rule names the page that it comes from, got %s for %s\n", page,
                 rule.c_str());
    std::abort();
  }
  std::string text = call + ": " + rule;
  if (!got.empty()) text += ", got " + got;
  text += std::string(" [") + page + "]";
  std::lock_guard lock(mutex);
  if (collectors > 0) {
    collected.push_back(text);
    return;
  }
  std::fprintf(stderr, "emulated device: %s\n", text.c_str());
  std::abort();
}

Collector::Collector() {
  std::lock_guard lock(mutex);
  ++collectors;
}
Collector::~Collector() {
  std::lock_guard lock(mutex);
  --collectors;
  collected.clear();
}
std::vector<std::string> Collector::take() {
  std::lock_guard lock(mutex);
  return std::exchange(collected, {});
}

// Kernels have no name in the dynamic symbol table, so the linker's table is read, by addr2line. It
// is asked only when a test fails.
std::string name_of_code(const void* address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return "?";
  const bool executable = *static_cast<const char*>(info.dli_fbase) == 0x7f &&
                          static_cast<const uint16_t*>(info.dli_fbase)[8] == 2;  // ET_EXEC
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) -
                           (executable ? 0 : reinterpret_cast<uintptr_t>(info.dli_fbase));
  char command[4096];
  std::snprintf(command, sizeof command, "addr2line -Cfpe '%s' 0x%zx 2>/dev/null", info.dli_fname,
                static_cast<size_t>(offset));
  std::string text;
  if (FILE* pipe = popen(command, "r")) {
    char line[4096];
    if (std::fgets(line, sizeof line, pipe)) text = line;
    pclose(pipe);
  }
  while (!text.empty() && (text.back() == '\n')) text.pop_back();
  if (const size_t unknown = text.find(" at ?"); unknown != std::string::npos) {
    text.resize(unknown);
  }
  return text.empty() ? "?" : text;
}

}  // namespace aorta::emulated
