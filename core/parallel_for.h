#pragma once

#include <cstdint>

namespace aorta {

/// The number of threads that CPU kernels use: OMP_NUM_THREADS, else the CPUs that this process may
/// run on; 1 in a child that was forked after threads had been used.
int get_num_threads();
/// Sets that number, for OpenMP's regions too where the program has OpenMP.
void set_num_threads(int count);

namespace detail {
using RangeFunction = void (*)(const void* context, int64_t begin, int64_t end);
void parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFunction function,
                  const void* context);
}  // namespace detail

/// Calls `body(first, last)` on ranges that cover [begin, end), each `grain` long (the last may be
/// shorter), on the threads of the pool. The ranges depend on `grain` alone and never on the number
/// of threads, so a body that keeps one partial result a range gives the same bits on any machine.
/// Work of one range, and calls from inside a body, run on the calling thread. An exception of a
/// body reaches the caller.
template <class Body>
inline void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  if (end <= begin) return;
  if (end - begin <= grain) return body(begin, end);
  detail::parallel_for(
      begin, end, grain,
      [](const void* context, int64_t first, int64_t last) {
        (*static_cast<const Body*>(context))(first, last);
      },
      &body);
}

}  // namespace aorta
