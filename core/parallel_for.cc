#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>
#include <aorta/core/thread_limit.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <thread>
#include <vector>

#ifndef AORTA_STD_THREADS
#include <omp.h>
#endif

namespace aorta {
namespace {

// More than any machine has CPUs. Of 100,000 libgomp, which keeps a list of them on the stack,
// dies.
constexpr int kMostThreads = 4096;

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
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return 1;
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

#ifndef AORTA_STD_THREADS
// A child of fork() has OpenMP's notes on its threads, but not the threads: it would wait for them
// for ever.
std::atomic<bool> has_pool{true};

// The bytes of a stack as libgomp takes them from OMP_STACKSIZE: a number, of KiB unless B, K, M or
// G follows. 0 for what it doesn't take.
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

// libgomp ends the program, exit code 1, where it can't start a thread. So a calling thread's first
// team, and each larger one, is tried first; once started, its threads stay.
void check_startable(int threads) {
  thread_local int tried = 1;
  if (threads <= tried) return;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;  // keeps them until all are there
  pthread_mutex_lock(&gate);
  std::vector<pthread_t> others;
  others.reserve(static_cast<size_t>(threads));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes());  // one that it refuses, libgomp has left
  int error = 0;
  while (error == 0 && static_cast<int>(others.size()) < threads - 1) {
    pthread_t other;
    error = pthread_create(
        &other, &attributes,
        [](void* held) -> void* {
          pthread_mutex_lock(static_cast<pthread_mutex_t*>(held));
          pthread_mutex_unlock(static_cast<pthread_mutex_t*>(held));
          return nullptr;
        },
        &gate);
    if (error == 0) others.push_back(other);
  }
  pthread_mutex_unlock(&gate);
  for (const pthread_t other : others) pthread_join(other, nullptr);
  pthread_attr_destroy(&attributes);
  check_resources(error == 0, "threads",
                  "as many must be startable as OMP_NUM_THREADS says, or as there are CPUs (ulimit "
                  "-u and -v, and OMP_STACKSIZE, limit them)",
                  others.size() + 1, " of ", threads, ": ", errno_text(error));
  tried = threads;
}
#endif

// Work is divided among threads for the first time: a child forked from now on has one thread,
// until it asks for more.
void prepare_for_fork() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    thread_count().store(1);
#ifndef AORTA_STD_THREADS
    has_pool = false;
#endif
  });
  static_cast<void>(once);
}

void run_on_threads(Work& work, int threads) {
  prepare_for_fork();
#ifndef AORTA_STD_THREADS
  if (has_pool) {
    // Always of all threads: of a smaller team libgomp ends the others, and starts them again
    // later.
    const int all = get_num_threads();
    check_startable(all);
#pragma omp parallel num_threads(all)
    {
      const int team = std::min(threads, omp_get_num_threads());
      if (omp_get_thread_num() < team) work.run(omp_get_thread_num(), team);
    }
    return;
  }
#endif
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back([&work, i, threads] { work.run(i, threads); });
  work.run(0, threads);
  for (std::thread& other : others) other.join();
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
#ifndef AORTA_STD_THREADS
  omp_set_num_threads(count);
#endif
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
