// Operators new that throw where there is no more memory, also under the address sanitizer, whose
// own end the program. Its checks are in malloc and free.
#ifdef __SANITIZE_ADDRESS__
#include <cstdlib>
#include <new>

namespace {
void* thrown_if_null(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* aligned(size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, static_cast<size_t>(alignment), size) == 0 ? memory : nullptr;
}
}  // namespace

void* operator new(size_t size) { return thrown_if_null(std::malloc(size)); }
void* operator new[](size_t size) { return thrown_if_null(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return thrown_if_null(aligned(size, alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return thrown_if_null(aligned(size, alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned(size, alignment);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
#endif
