#include <aorta/tests/cuda/emulated/fiber.h>

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

// ucontext's switch makes two system calls; this one saves what the System V ABI has a function
// keep.
extern "C" void aorta_emulated_switch(void** save, void* to);
asm(R"(
.text
.type aorta_emulated_switch, @function
aorta_emulated_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size aorta_emulated_switch, .-aorta_emulated_switch
)");

namespace aorta::emulated {

Fiber::Fiber(void (*entry)()) {
  char* memory = static_cast<char*>(mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
    std::perror("emulated device: a fiber's stack");
    std::abort();
  }
  stack_ = memory + kGuardBytes;
  // What aorta_emulated_switch pops: six registers and the address to go to; above it the stack is
  // aligned as at a function's first instruction.
  void** top = reinterpret_cast<void**>(stack_ + kStackBytes) - 1;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  pointer_ = top;
}

Fiber::~Fiber() { munmap(stack_ - kGuardBytes, kGuardBytes + kStackBytes); }

void Fiber::resume() { aorta_emulated_switch(&owner_pointer_, pointer_); }
void Fiber::leave() { aorta_emulated_switch(&pointer_, owner_pointer_); }

}  // namespace aorta::emulated
