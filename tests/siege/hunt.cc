#include <aorta/tests/siege/hunt.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <set>

#include <aorta/tests/siege/judge.h>

namespace aorta::siege {
namespace {

constexpr int64_t kCasesPerChild = 20000;
constexpr size_t kMostSaid = 6000;

// What parent and child share.
struct Shared {
  std::atomic<uint64_t> number, tried, results, errors;
  std::atomic<size_t> said;
  char text[kMostSaid];
};
Shared* shared = nullptr;
int findings_pipe = -1;  // the child's end; -1 where there is no parent
bool found_here = false;

struct Settings {
  uint64_t seed = 1, cases = UINT64_MAX;
  double seconds = 1e9;
  bool single = false;
  uint64_t number = 0;
  std::string only;
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--seed") settings.seed = std::strtoull(value, nullptr, 10);
    if (name == "--cases") settings.cases = std::strtoull(value, nullptr, 10);
    if (name == "--seconds") settings.seconds = std::strtod(value, nullptr);
    if (name == "--only") settings.only = value;
    if (name == "--case") {
      settings.single = true;
      settings.number = std::strtoull(value, nullptr, 10);
    }
  }
  return settings;
}

std::string said() { return {shared->text, shared->said.load()}; }

// Digits and quoted names are many, kinds of findings few.
std::string kind_of(std::string_view text) {
  std::string kind;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !quoted) kind += c;
    if (digit && !quoted && (kind.empty() || kind.back() != '#')) kind += '#';
  }
  return kind;
}

void run_case(const Settings& settings, uint64_t number, const std::function<void(Case&)>& body) {
  shared->number = number;
  shared->said = 0;
  Case one{number, Draw(settings.seed, number), settings.only};
  try {
    body(one);
  } catch (const std::exception& error) {
    one.find("exception", std::string("must throw an Error alone, got ") + error.what());
  } catch (...) {
    one.find("exception", "must throw an Error alone, got another type");
  }
}

void limit_memory(int64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const auto most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + bytes);
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
#else
  static_cast<void>(bytes);  // a sanitizer has its own limit, and takes terabytes of addresses
#endif
}

[[noreturn]] void run_child(const Settings& settings, uint64_t first, uint64_t last,
                            int64_t memory_bytes, const std::function<void(Case&)>& body) {
  limit_memory(memory_bytes);
  for (uint64_t number = first; number < last; ++number) {
    // A machine that others use too takes longer; who waits for nothing takes no time of the CPU.
    const itimerval limit{{}, {kSecondsPerCase, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    alarm(12 * kSecondsPerCase);
    run_case(settings, number, body);
  }
  _exit(0);
}

class Findings {
 public:
  Findings(const char* part, const Settings& settings) : part_(part), settings_(settings) {}
  // A line `number \t key \t text` of the pipe.
  void add(uint64_t number, const std::string& key, const std::string& text) {
    if (++kinds_[kind_of(key)] > 1) return;
    const std::string only = settings_.only.empty() ? "" : " --only " + settings_.only;
    std::printf("finding: %s\n  see it again: %s --seed %llu --case %llu%s\n", text.c_str(), part_,
                static_cast<unsigned long long>(settings_.seed),
                static_cast<unsigned long long>(number), only.c_str());
    std::fflush(stdout);
  }
  size_t count() const { return kinds_.size(); }

 private:
  const char* part_;
  const Settings& settings_;
  std::map<std::string, int64_t> kinds_;
};

void add_lines(std::string& pending, Findings& findings) {
  for (size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
    const size_t first = pending.find('\t'), second = pending.find('\t', first + 1);
    findings.add(std::strtoull(pending.c_str(), nullptr, 10),
                 pending.substr(first + 1, second - first - 1),
                 pending.substr(second + 1, end - second - 1));
  }
}

std::string end_of(int status) {
  if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  if (number == SIGPROF) return "took more than " + std::to_string(kSecondsPerCase) + " s";
  if (number == SIGALRM) return "hung";
  return "was ended by signal " + std::to_string(number) + " (SIG" + sigabbrev_np(number) + ")";
}

}  // namespace

uint64_t Draw::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Case::say(std::string_view text) const {
  const size_t at = shared->said, length = std::min(text.size(), kMostSaid - at);
  std::memcpy(shared->text + at, text.data(), length);
  for (size_t i = at; i < at + length; ++i) {
    if (static_cast<unsigned char>(shared->text[i]) < 0x20) shared->text[i] = ' ';
  }
  shared->said = at + length;
  if (findings_pipe < 0) std::fprintf(stderr, "%.*s", static_cast<int>(text.size()), text.data());
}

void Case::tried(bool well) const {
  ++shared->tried;
  ++(well ? shared->results : shared->errors);
}

void Case::tried_error(std::string_view text) const {
  tried(false);
  if (findings_pipe < 0)
    std::fprintf(stderr, "\n%.*s\n", static_cast<int>(text.size()), text.data());
  const std::string fault = fault_of(text);
  if (fault.empty()) return;
  // One rule is broken by many ops.
  const size_t rule = std::min(text.find(": "), text.size());
  find(std::string(text.substr(rule, text.find(", got ") - rule)) + fault,
       "a message " + fault + ": " + std::string(text));
}

void Case::find(std::string_view key, std::string_view what) const {
  found_here = true;
  std::string text(what);
  text += " | " + said();
  std::string name(key);
  for (std::string* part : {&text, &name}) {
    for (char& c : *part) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
  }
  const std::string line = std::to_string(number) + '\t' + name + '\t' + text + '\n';
  if (findings_pipe < 0) {
    std::fprintf(stderr, "\nfinding: %s\n", text.c_str());
  } else if (write(findings_pipe, line.data(), line.size()) < 0) {
    std::abort();  // without a parent nobody reads on
  }
}

int hunt(int argc, char** argv, const char* part, int64_t memory_bytes,
         const std::function<void(Case&)>& body) {
  const Settings settings = settings_of(argc, argv);
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 4;
  shared = new (memory) Shared{};
  if (settings.single) {
    limit_memory(memory_bytes);
    run_case(settings, settings.number, body);
    return found_here;
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(settings.seconds);
  Findings findings(part, settings);
  uint64_t slow_before = UINT64_MAX;
  for (uint64_t next = 0; next < settings.cases && Clock::now() < end;) {
    const uint64_t last = std::min(settings.cases, next + kCasesPerChild);
    int ends[2];
    if (pipe(ends) != 0) return 4;
    const pid_t child = fork();
    if (child < 0) return 4;
    if (child == 0) {
      close(ends[0]);
      findings_pipe = ends[1];
      run_child(settings, next, last, memory_bytes, body);
    }
    close(ends[1]);
    std::string pending;
    char buffer[4096];
    bool stopped = false;
    // The time may be over while the child has cases left.
    while (true) {
      fd_set set;
      FD_ZERO(&set);
      FD_SET(ends[0], &set);
      timeval wait{0, 200000};
      const int ready = select(ends[0] + 1, &set, nullptr, nullptr, &wait);
      if (Clock::now() >= end && !stopped) {
        stopped = true;
        kill(child, SIGKILL);
      }
      if (ready <= 0) continue;
      const ssize_t count = read(ends[0], buffer, sizeof buffer);
      if (count <= 0) break;
      pending.append(buffer, static_cast<size_t>(count));
      add_lines(pending, findings);
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    next = last;
    // A view is ten times as dear under a sanitizer, and memory isn't limited there.
    const bool slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    if (slow && kSanitized) {
      next = shared->number + 1;
    } else if (slow && shared->number != slow_before) {
      next = slow_before = shared->number;  // again, in a process of its own, before it is said
    } else if (status != 0 && !stopped) {
      // What was called stands up to the first parenthesis.
      const std::string text = said(), how = end_of(status);
      findings.add(shared->number, how + text.substr(0, text.find('(')), how + " | " + text);
      next = shared->number + 1;
    }
  }
  std::printf("%s: %llu tried (%llu results, %llu errors), %zu findings\n", part,
              static_cast<unsigned long long>(shared->tried),
              static_cast<unsigned long long>(shared->results),
              static_cast<unsigned long long>(shared->errors), findings.count());
  return findings.count() > 0;
}

}  // namespace aorta::siege
