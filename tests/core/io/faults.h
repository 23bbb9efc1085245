#pragma once

#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

/// A table of system calls of which one fails, or at which the process is killed.
namespace aorta::io_test {

/// What happens at the call whose turn it is.
enum class Fault { error, error_from_here_on, short_write, kill_before, kill_after };

/// Which call fails, and how; the table's functions have no state of their own.
struct Plan {
  int at = 0;
  Fault fault = Fault::error;
  int error = 0;
  int calls = 0;
  bool hit = false;
};
inline Plan plan;

/// Counts a call, and makes it fail when it is its turn. `release`: the call takes effect although
// it reports an error, as close does.
template <class Result, class Call>
Result step(Result failure, Call call, bool release = false) {
  int number = ++plan.calls;
  bool turn = number == plan.at || (plan.fault == Fault::error_from_here_on && number > plan.at);
  if (!turn || plan.fault == Fault::short_write) return call();
  plan.hit = true;
  if (plan.fault == Fault::kill_before) ::raise(SIGKILL);
  if (plan.fault == Fault::kill_after) {
    call();
    ::raise(SIGKILL);
  }
  if (release) call();
  errno = plan.error;
  return failure;
}

inline ssize_t faulty_write(int descriptor, const void* data, size_t size) {
  const io::FileSystem& kernel = io::kernel_file_system();
  if (plan.fault == Fault::short_write && plan.calls + 1 == plan.at) {
    plan.hit = true;
    ++plan.calls;
    return kernel.write(descriptor, data, (size + 1) / 2);
  }
  return step<ssize_t>(-1, [&] { return kernel.write(descriptor, data, size); });
}

/// The kernel's calls, with `plan` in force.
inline io::FileSystem faulty_table() {
  io::FileSystem table = io::kernel_file_system();
  static const io::FileSystem& kernel = io::kernel_file_system();
  table.open = [](const char* path, int flags, mode_t mode) {
    return step(-1, [&] { return kernel.open(path, flags, mode); });
  };
  table.write = faulty_write;
  table.fsync = [](int d) { return step(-1, [&] { return kernel.fsync(d); }); };
  table.close = [](int d) {
    return step(
        -1, [&] { return kernel.close(d); }, true);
  };
  table.rename = [](const char* a, const char* b) {
    return step(-1, [&] { return kernel.rename(a, b); });
  };
  table.link = [](const char* a, const char* b) {
    return step(-1, [&] { return kernel.link(a, b); });
  };
  table.unlink = [](const char* path) { return step(-1, [&] { return kernel.unlink(path); }); };
  table.flock = [](int d, int operation) {
    return step(-1, [&] { return kernel.flock(d, operation); });
  };
  table.stat = [](const char* path, struct ::stat* status) {
    return step(-1, [&] { return kernel.stat(path, status); });
  };
  table.fstat = [](int d, struct ::stat* status) {
    return step(-1, [&] { return kernel.fstat(d, status); });
  };
  table.mmap = [](void* p, size_t n, int prot, int flags, int d, off_t offset) {
    return step(MAP_FAILED, [&] { return kernel.mmap(p, n, prot, flags, d, offset); });
  };
  return table;
}

}  // namespace aorta::io_test
