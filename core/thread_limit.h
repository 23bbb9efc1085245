#pragma once

namespace aorta {

/// While it lives, CPU kernels that this thread calls use at most `threads` threads: what several
/// threads that compute at once divide the CPUs with. Scopes nest, and an inner one allows no more
/// than the outer one. Throws `ThreadLimit: at least one thread, got ...`.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

}  // namespace aorta
