#include <aorta/core/parallel_for.h>
#include <aorta/core/process/child.h>
#include <aorta/core/process/init.h>
#include <aorta/core/process/process_group.h>
#include <aorta/core/process/zygote.h>
#include <aorta/core/resource_error.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <string_view>

namespace aorta {
namespace {

struct Program {
  std::once_flag once;
  std::string name;
  bool called = false;
};

Program& program() {
  static Program instance;
  return instance;
}

// The lowest number that is free is the one that opening gives.
void open_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDWR) != number)
      fail_for_resources("init", "a closed standard stream must be openable on /dev/null",
                         errno_text(errno));
  }
}

// Below this, calls of ordinary depth run into the end of the stack: a signal, and no word.
void check_stack() {
  constexpr rlim_t kLeast = 512 << 10;
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY) return;
  check_resources(stack.rlim_cur >= kLeast, "init",
                  "the stack must have 512 KiB at least (ulimit -s)", stack.rlim_cur >> 10, " KiB");
}

bool is_one_of_several() {
  const char* plugin = std::getenv("AORTA_MPI_PLUGIN");
  return distributed::is_launched() && !(plugin && std::string_view(plugin) == "none");
}

void ignore_file_size_signal() {
  struct sigaction action {};
  if (sigaction(SIGXFSZ, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
    signal(SIGXFSZ, SIG_IGN);
}

std::terminate_handler ended_before = nullptr;

[[noreturn]] void print_and_end() noexcept {
  std::cout.flush();
  std::fflush(stdout);
  ended_before();
  std::abort();
}

}  // namespace

void init(int argc, const char* const* argv) {
  std::call_once(program().once, [&] {
    open_standard_descriptors();
    ignore_file_size_signal();
    ended_before = std::set_terminate(print_and_end);
    check_stack();
    run_if_spawned();
    get_num_threads();  // says here what is wrong with OMP_NUM_THREADS
    start_zygote();
    program().called = true;
    if (is_one_of_several()) distributed::init_process_group();
    // POSIX lets a caller of exec leave out even the name.
    if (argc < 1 || argv == nullptr || argv[0] == nullptr) return;
    const std::string path = argv[0];
    program().name = path.substr(path.rfind('/') + 1);
  });
}

const std::string& program_name() { return program().name; }

bool is_init_called() { return program().called; }

}  // namespace aorta
