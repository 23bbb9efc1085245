#include <aorta/core/device_backend.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/process/child.h>

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace aorta {

void say_of_process(const char* text) {
  std::fprintf(stderr, "aorta: process %d: %s\n", static_cast<int>(getpid()), text);
}

void become_worker() {
  refuse_devices("a worker process can't use devices; the process that trains moves batches there");
  set_num_threads(1);
}

void die_with_program(pid_t program) {
  std::thread([program] {
    try {
      const Descriptor watch = open_pidfd(program);
      pollfd wait{watch.get(), POLLIN, 0};
      while (poll(&wait, 1, -1) < 0) {
      }
    } catch (const Error&) {
      // It is gone.
    }
    _exit(1);
  }).detach();
}

}  // namespace aorta
