// Operators new that throw where there is no more memory, also under the address sanitizer, whose
// own end the program. Its checks are in malloc and free.
#ifdef __SANITIZE_ADDRESS__
#include <cstdlib>
#include <new>

namespace {
void* allocated(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}
size_t alignment_of(std::align_val_t alignment) { return static_cast<size_t>(alignment); }
}  // namespace

void* operator new(size_t size) { return allocated(std::malloc(size)); }
void* operator new[](size_t size) { return allocated(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return allocated(aligned_alloc(alignment_of(alignment), size));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocated(aligned_alloc(alignment_of(alignment), size));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
