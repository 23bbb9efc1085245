#pragma once

#include <cstddef>
#include <cstdint>

namespace aorta::emulated {

/// A stack of its own that code runs on. A fiber is started and continued by the thread that made
/// it.
class Fiber {
 public:
  /// Calls entry() when it is first continued; entry never returns.
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes to the fiber, and comes back when the fiber calls `leave`.
  void resume();
  /// Goes back to who continued the fiber.
  void leave();

  static constexpr size_t kStackBytes = 256 << 10;
  uintptr_t low() const { return reinterpret_cast<uintptr_t>(stack_); }

 private:
  static constexpr size_t kGuardBytes = 4096;
  char* stack_;            // above a guard page
  void* pointer_;          // the fiber's stack pointer, while it rests
  void* owner_pointer_{};  // its owner's, while it runs
};

}  // namespace aorta::emulated
