// In the place of access.cc and host_atomics.cc where a sanitizer sees the kernels' accesses.
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <cuda_runtime.h>

extern "C" {
__attribute__((weak)) void __tsan_read_range(const void* data, size_t bytes);
__attribute__((weak)) void __tsan_write_range(const void* data, size_t bytes);
}

namespace aorta::emulated {

const bool checks_accesses = false;

void show_read(const void* data, size_t bytes) {
  if (__tsan_read_range) __tsan_read_range(data, bytes);
}
void show_write(const void* data, size_t bytes) {
  if (__tsan_write_range) __tsan_write_range(data, bytes);
}

}  // namespace aorta::emulated

unsigned long long atomicMin(unsigned long long* place, unsigned long long value) {
  const unsigned long long old = *place;
  if (value < old) *place = value;
  return old;
}

unsigned atomicAdd(unsigned* place, unsigned value) {
  const unsigned old = *place;
  *place += value;
  return old;
}
