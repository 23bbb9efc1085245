#pragma once

#include <aorta/tests/cuda/emulated/fiber.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/races.h>
#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace aorta::emulated {

/// CUDA C++ Programming Guide, "Compute Capabilities", technical specifications.
inline constexpr size_t kSharedBytes = 48 << 10;
inline constexpr int kWarp = 32;

/// One launch, as it is run: its blocks one after another in the calling thread.
///
/// A thread runs on the fiber that ran the one before it, and keeps the fiber only when it has to
/// wait: a kernel without barriers is a loop.
class KernelRun {
 public:
  KernelRun(const KernelCall& call, dim3 grid, dim3 block, int device);
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  /// False when a broken rule ended it.
  bool run();

  // For the thread that is running.
  void barrier(Site site);
  /// `all`, where it is given, becomes the values of all lanes, 16 bytes each.
  void exchange(const Exchange& wanted, void* value, size_t bytes, void* all = nullptr);
  void* shared_memory(const void* site, size_t bytes, size_t alignment);
  /// Reports and gives the whole launch up; doesn't return.
  [[noreturn]] void fail(const std::string& rule, const std::string& got, const char* page);

  /// The kernel's name and the running thread.
  std::string where() const;
  int device() const { return device_; }
  const Memory& memory() const { return memory_; }
  /// True for the running thread's stack.
  bool on_stack(uintptr_t address) const { return address - running_->low() < Fiber::kStackBytes; }
  /// True for the other places of a thread that aren't memory of the device: the parameters, and
  /// `place`.
  bool is_own(uintptr_t address, size_t bytes) const {
    const auto within = [&](const void* begin, size_t size) {
      const uintptr_t offset = address - reinterpret_cast<uintptr_t>(begin);
      return offset < size && offset + bytes <= size;
    };
    return within(&call_, call_.object_bytes) || within(&place, sizeof place);
  }
  bool in_shared_range(uintptr_t address) const {
    return shared_ && address - reinterpret_cast<uintptr_t>(shared_.get()) < kArenaBytes;
  }
  /// The block's shared memory: whether all bytes lie in a declared array, and whether this block
  /// has written all of them.
  bool is_shared(uintptr_t address, size_t bytes) const { return has(kDeclared, address, bytes); }
  bool is_shared_written(uintptr_t address, size_t bytes) const {
    return has(kWritten, address, bytes);
  }
  void set_shared_written(uintptr_t address, size_t bytes) {
    std::memset(shared_state_.get() + (address - reinterpret_cast<uintptr_t>(shared_.get())),
                kDeclared | kWritten, bytes);
  }

  uint32_t thread_number() const { return current_; }
  /// The running thread, for the check of races.
  Toucher toucher() const {
    return {block_number_, current_, epoch_, warps_[current_ / kWarp].syncs};
  }
  Races& races() const { return races_; }

 private:
  enum class State : uint8_t { running, ready, at_barrier, at_exchange, finished };
  struct Thread {
    State state = State::running;
    Fiber* fiber = nullptr;
    Site site;
    uint32_t barriers = 0;
  };
  // Lanes that meet in a shuffle. Values of two meetings are kept: a lane may be in the next one
  // before the last has read.
  struct Warp {
    unsigned arrived = 0, mask = 0;
    uint32_t generation = 0, syncs = 0;
    Site site;
    alignas(16) unsigned char values[2][kWarp][16];
  };
  struct SharedArray {
    const void* site;
    size_t offset, bytes;
  };
  static constexpr size_t kRedZone = 32, kArenaBytes = kSharedBytes + 4096;
  // What is known of a byte of shared memory. Between two arrays lie bytes of which nothing is.
  static constexpr uint8_t kDeclared = 1, kWritten = 2;
  bool has(uint8_t state, uintptr_t address, size_t bytes) const {
    const uintptr_t offset = address - reinterpret_cast<uintptr_t>(shared_.get());
    if (!in_shared_range(address) || bytes > kArenaBytes - offset) return false;
    const uint8_t* const states = shared_state_.get() + offset;
    uint8_t all = state;
    for (size_t i = 0; i < bytes; ++i) all &= states[i];
    return all == state;
  }

  static void fiber_main();
  void begin_block(uint32_t number);
  void run_block();
  bool start_next();
  void finish_thread();
  void park(State state);
  void resume(uint32_t thread);
  uint32_t choose_ready();
  void open_barrier();
  void set_place(uint32_t thread);
  Fiber* idle_fiber();
  void go_to(Fiber* fiber);
  std::string name_of(uint32_t thread) const;
  void report_deadlock();

  const KernelCall& call_;
  const dim3 grid_, block_;
  const int device_;
  const Memory& memory_;
  Races& races_;
  const uint32_t count_;  // threads of a block
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<uint3> positions_;  // of threads, by their numbers
  std::vector<uint32_t> order_;   // in which threads begin
  std::vector<uint32_t> ready_;
  Fiber* running_ = nullptr;
  uintptr_t stack_ = 0;  // of the running fiber
  uint32_t block_number_ = 0, started_ = 0, finished_ = 0, waiting_ = 0, current_ = 0, epoch_ = 0;
  uint32_t first_waiting_ = 0;  // who came to the barrier first
  bool failed_ = false;
  std::unique_ptr<unsigned char[]> shared_, shared_state_;  // a byte for each
  size_t shared_used_ = 0;
  std::vector<SharedArray> shared_arrays_;
};

/// The launch whose kernel is running; null in all other code, the double's own among it, which may
/// share functions of the standard library with code whose accesses are checked.
extern thread_local constinit KernelRun* running __attribute__((tls_model("initial-exec")));

/// While one lives, the kernel that called is left.
class OutsideKernel {
 public:
  OutsideKernel() : run_(running) { running = nullptr; }
  ~OutsideKernel() { running = run_; }
  OutsideKernel(const OutsideKernel&) = delete;
  OutsideKernel& operator=(const OutsideKernel&) = delete;
  KernelRun* run() const { return run_; }

 private:
  KernelRun* run_;
};

}  // namespace aorta::emulated
