// Atomic operations of host code that is compiled with the kernels: -fsanitize=thread makes calls
// of these too.
#include <cstdint>

extern "C" {
uint8_t __tsan_atomic8_load(const volatile uint8_t* place, int) {
  return __atomic_load_n(place, __ATOMIC_SEQ_CST);
}
uint32_t __tsan_atomic32_load(const volatile uint32_t* place, int) {
  return __atomic_load_n(place, __ATOMIC_SEQ_CST);
}
uint64_t __tsan_atomic64_load(const volatile uint64_t* place, int) {
  return __atomic_load_n(place, __ATOMIC_SEQ_CST);
}
void __tsan_atomic64_store(volatile uint64_t* place, uint64_t value, int) {
  __atomic_store_n(place, value, __ATOMIC_SEQ_CST);
}
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t* place, uint32_t value, int) {
  return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}
uint32_t __tsan_atomic32_fetch_sub(volatile uint32_t* place, uint32_t value, int) {
  return __atomic_fetch_sub(place, value, __ATOMIC_SEQ_CST);
}
}
