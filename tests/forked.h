#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace aorta {

/// What a child made by fork() ends with when it ends with `body()`, which has a minute; -1 when
/// a signal ends it, 99 when it throws.
template <class Body>
int forked(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    try {
      _exit(body());
    } catch (const std::exception& error) {  // the child has no right to go on in the caller
      std::fprintf(stderr, "%s\n", error.what());
      _exit(99);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace aorta
