#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>
#include <aorta/core/thread_limit.h>

#include <dlfcn.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace aorta {
namespace {

// In a program that has OpenMP, its regions would wait in a forked child for threads that there
// aren't; the child is told one thread. Looked for before any fork, which may leave a lock shut.
const auto kSetOpenMPThreads =
    reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));

// More than any machine has CPUs.
constexpr int kMostThreads = 4096;

// The number of CPUs that this process may run on.
int cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

int default_threads() {
  const char* wish = std::getenv("OMP_NUM_THREADS");
  if (wish && *wish) {
    char* end = nullptr;
    const long count = std::strtol(wish, &end, 10);
    end += std::strspn(end, " \t\n");
    // A list has a number for each level of nested teams (OpenMP 5.2, 21.1.2); here is one level.
    check_resources(
        end != wish && (*end == '\0' || *end == ',') && count >= 1 && count <= kMostThreads,
        "OMP_NUM_THREADS", "must be 1 to 4096", "\"", wish, "\"");
    return static_cast<int>(count);
  }
  return cpus();
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_threads()};
  return count;
}

thread_local constinit bool inside = false;
thread_local constinit int thread_limit = kMostThreads;

// Hands out ranges one at a time; the first exception stops the rest and is kept. A thread's first
// range is the one of its number, so that a core that does the same work again has its data still.
struct Work {
  int64_t begin, end, grain;
  detail::RangeFunction function;
  const void* context;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error = nullptr;

  // Run by each of the `team` threads that the pool gives, which may be fewer than asked for.
  void run(int thread, int team) {
    inside = true;
    const int64_t ranges = (end - begin - 1) / grain + 1;
    for (int64_t i = thread; !failed.load(std::memory_order_relaxed) && i < ranges;
         i = team + next.fetch_add(1)) {
      const int64_t first = begin + i * grain;
      try {
        function(context, first, first + std::min(grain, end - first));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
    inside = false;
  }
};

// A child of fork() has its parent's notes on threads, but not the threads.
std::atomic<int> forks{0};

// Work is divided among threads for the first time: a child forked from now on has one thread,
// until it asks for more.
void prepare_for_fork() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    thread_count().store(1);
    forks.fetch_add(1);
  });
  static_cast<void>(once);
}

// The bytes of a stack as OMP_STACKSIZE says them: a number, of KiB unless B, K, M or G follows. 0
// for what it can't mean.
size_t stack_bytes() {
  const char* text = std::getenv("OMP_STACKSIZE");
  if (!text) text = std::getenv("GOMP_STACKSIZE");
  if (!text) return 0;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text, &end, 10);
  if (errno != 0 || end == text) return 0;
  while (std::isspace(static_cast<unsigned char>(*end))) ++end;
  constexpr std::string_view kUnits = "bkmg";
  const size_t unit = *end ? kUnits.find(static_cast<char>(std::tolower(*end))) : 1;
  size_t bytes = 0;
  if (unit == kUnits.npos || __builtin_mul_overflow(number, size_t{1} << (10 * unit), &bytes))
    return 0;
  return bytes;
}

// How often a thread looks before it sleeps, some 50 microseconds: an op is followed by the next
// one sooner. One that waits longer would keep a CPU from another process, or from the very thread
// that it waits for.
constexpr int kLooks = 2000;

template <class Value>
void wait_while(const std::atomic<Value>& value, Value old, int looks) {
  for (int i = 0; i < looks; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    _mm_pause();
  }
  value.wait(old, std::memory_order_acquire);
}

// The threads that work for one calling thread, so that several may call at once. They start when
// they are first needed, and end with it.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    if (forks_ != forks.load()) return;
    for (const auto& member : members_) give(*member, nullptr);
    for (const auto& member : members_) pthread_join(member->thread, nullptr);
  }

  /// Runs the work on `threads` threads; the calling one is number 0.
  void run(Work& work, int threads) {
    if (forks_ != forks.load()) {
      members_.clear();
      forks_ = forks.load();
    }
    start(threads - 1);
    const int looks = threads <= cpus_ ? kLooks : 0;
    running_.store(threads - 1, std::memory_order_relaxed);
    for (int i = 0; i < threads - 1; ++i) {
      Member& member = *members_[static_cast<size_t>(i)];
      member.threads = threads;
      member.looks = looks;
      give(member, &work);
    }
    work.run(0, threads);
    while (const int running = running_.load(std::memory_order_acquire))
      wait_while(running_, running, looks);
  }

 private:
  // On cache lines of its own, which its thread watches.
  struct alignas(64) Member {
    std::atomic<uint32_t> turn{0};
    Work* work = nullptr;
    int number = 0, threads = 0, looks = 0;
    Team* team = nullptr;
    pthread_t thread = {};
  };

  // Its next turn; no work ends it.
  static void give(Member& member, Work* work) {
    member.work = work;
    member.turn.fetch_add(1, std::memory_order_release);
    member.turn.notify_one();
  }

  static void* serve(void* given) {
    Member& self = *static_cast<Member*>(given);
    int looks = 0;
    for (uint32_t turn = 0;; ++turn) {
      wait_while(self.turn, turn, looks);
      if (!self.work) return nullptr;
      looks = self.looks;
      self.work->run(self.number, self.threads);
      std::atomic<int>& running = self.team->running_;
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void start(int count) {
    const auto wanted = static_cast<size_t>(count);
    if (members_.size() >= wanted) return;
    members_.reserve(wanted);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes());  // the default where it is refused
    int error = 0;
    while (error == 0 && members_.size() < wanted) {
      auto member = std::make_unique<Member>();
      member->number = static_cast<int>(members_.size()) + 1;
      member->team = this;
      error = pthread_create(&member->thread, &attributes, serve, member.get());
      if (error == 0) members_.push_back(std::move(member));
    }
    pthread_attr_destroy(&attributes);
    check_resources(error == 0, "threads",
                    "as many must be startable as OMP_NUM_THREADS says, or as there are CPUs "
                    "(ulimit -u and -v, and OMP_STACKSIZE, limit them)",
                    members_.size() + 1, " of ", count + 1, ": ", errno_text(error));
  }

  std::vector<std::unique_ptr<Member>> members_;
  alignas(64) std::atomic<int> running_{0};  // members that have not ended this turn
  int forks_ = forks.load();
  int cpus_ = cpus();
};

// This thread's team; none once the thread is ending, when its last work is its own alone.
Team* team_of_this_thread() {
  thread_local constinit bool ended = false;
  struct Owner {
    ~Owner() { ended = true; }
    Team team;
  };
  if (ended) return nullptr;
  thread_local Owner owner;
  return &owner.team;
}

void run_on_threads(Work& work, int threads) {
  prepare_for_fork();
  Team* const team = team_of_this_thread();
  if (!team) return work.run(0, 1);
  team->run(work, threads);
}

}  // namespace

int get_num_threads() {
  return std::min(thread_count().load(std::memory_order_relaxed), thread_limit);
}

ThreadLimit::ThreadLimit(int threads) : outer_(thread_limit) {
  check(threads >= 1, "ThreadLimit", "at least one thread", threads);
  thread_limit = std::min(threads, outer_);
}
ThreadLimit::~ThreadLimit() { thread_limit = outer_; }

void set_num_threads(int count) {
  check(count >= 1, "set_num_threads", "at least one thread", count);
  check(count <= kMostThreads, "set_num_threads", "at most 4096 threads", count);
  thread_count().store(count);
  if (kSetOpenMPThreads) kSetOpenMPThreads(count);
}

void detail::parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFunction function,
                          const void* context) {
  grain = std::max<int64_t>(grain, 1);
  const int64_t ranges = (end - begin - 1) / grain + 1;
  const int threads = static_cast<int>(std::min<int64_t>(get_num_threads(), ranges));
  if (threads == 1 || inside) {
    for (int64_t i = 0; i < ranges; ++i) {
      const int64_t first = begin + i * grain;
      function(context, first, first + std::min(grain, end - first));
    }
    return;
  }
  Work work{begin, end, grain, function, context};
  run_on_threads(work, threads);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace aorta
