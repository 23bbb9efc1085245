#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace aorta {

/// What a child made by fork() ends with when it ends with `body()`, which has 20 seconds; -1 when
/// a signal ends it.
template <class Body>
int forked(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace aorta
