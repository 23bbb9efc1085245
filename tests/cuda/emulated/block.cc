#include <aorta/tests/cuda/emulated/block.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <mma.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace aorta::emulated {

thread_local constinit ThreadPosition place{};
thread_local constinit KernelRun* running = nullptr;

// Not in the namespace below: of a local variable of this model gold writes no offset, and it would
// lie where the library's first one does.
thread_local constinit KernelRun* launched __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr const char* kBarrierPage =
    "docs.nvidia.com/cuda/cuda-c-programming-guide, Synchronization Functions: __syncthreads()";
constexpr const char* kShufflePage =
    "docs.nvidia.com/cuda/cuda-c-programming-guide, Warp Shuffle Functions";
constexpr const char* kMatrixPage =
    "docs.nvidia.com/cuda/cuda-c-programming-guide, Warp Matrix Functions";
constexpr const char* kSharedPage =
    "docs.nvidia.com/cuda/cuda-c-programming-guide, Compute Capabilities: shared memory per block";

// One launch runs at a time, whatever the thread: the memory that races are looked for in is kept.
Races& kept_races() {
  static auto* races = new Races;
  return *races;
}

// What a thread keeps from one launch to the next, for making a fiber costs two system calls.
thread_local std::vector<std::unique_ptr<Fiber>> all_fibers;
thread_local std::vector<Fiber*> spare_fibers;

std::string text_of(const Site& site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}

bool same(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name());
}

uint3 position(uint32_t number, const dim3& size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

std::string text_of(const uint3& p) {
  return "(" + std::to_string(p.x) + "," + std::to_string(p.y) + "," + std::to_string(p.z) + ")";
}

}  // namespace

KernelRun::KernelRun(const KernelCall& call, dim3 grid, dim3 block, int device)
    : call_(call),
      grid_(grid),
      block_(block),
      device_(device),
      memory_(Memory::get()),
      races_(kept_races()),
      count_(block.x * block.y * block.z),
      threads_(count_),
      warps_((count_ + kWarp - 1) / kWarp),
      positions_(count_),
      order_(count_) {
  for (uint32_t i = 0; i < count_; ++i) positions_[i] = position(i, block_);
  std::iota(order_.begin(), order_.end(), 0u);
  if (settings().order == Order::reverse) std::reverse(order_.begin(), order_.end());
}

// What a failed launch left on its fibers is forgotten: kernels hold nothing that has a destructor.
KernelRun::~KernelRun() {
  if (!failed_) return;
  spare_fibers.clear();
  all_fibers.clear();
}

bool KernelRun::run() {
  launched = this;
  races_.begin();
  place.block_size = {block_.x, block_.y, block_.z};
  place.grid = {grid_.x, grid_.y, grid_.z};
  const uint64_t blocks = uint64_t{grid_.x} * grid_.y * grid_.z;
  // With a step that has no divisor in common with the number of blocks, all have their turn.
  uint64_t step = 1, at = 0;
  if (settings().order == Order::reverse) step = blocks - 1, at = blocks - 1;
  if (settings().order == Order::random) {
    at = random_below(blocks);
    do step = 1 + random_below(blocks);
    while (std::gcd(step, blocks) != 1);
  }
  for (uint64_t i = 0; i < blocks && !failed_; ++i, at = (at + step) % blocks) {
    begin_block(static_cast<uint32_t>(at));
    run_block();
  }
  launched = nullptr;
  return !failed_;
}

void KernelRun::begin_block(uint32_t number) {
  block_number_ = number;
  place.block = position(number, grid_);
  started_ = finished_ = waiting_ = epoch_ = 0;
  std::fill(threads_.begin(), threads_.end(), Thread{});
  for (Warp& warp : warps_) warp.arrived = warp.generation = warp.syncs = 0;
  if (shared_used_) std::memset(shared_state_.get(), 0, shared_used_);
  shared_used_ = 0;
  shared_arrays_.clear();
  if (settings().order == Order::random) {
    for (uint32_t i = count_; i > 1; --i) std::swap(order_[i - 1], order_[random_below(i)]);
  }
}

void KernelRun::run_block() {
  while (!failed_ && finished_ < count_) {
    const bool more = started_ < count_;
    // In random order those that wait no longer may go first, or those that haven't begun.
    if (!ready_.empty() && !(more && settings().order == Order::random && random_below(2))) {
      resume(choose_ready());
    } else if (more) {
      go_to(idle_fiber());
    } else {
      report_deadlock();
    }
  }
  ready_.clear();
}

void KernelRun::go_to(Fiber* fiber) {
  running_ = fiber;
  stack_ = fiber->low();
  fiber->resume();
}

Fiber* KernelRun::idle_fiber() {
  if (spare_fibers.empty()) {
    all_fibers.push_back(std::make_unique<Fiber>(fiber_main));
    return all_fibers.back().get();
  }
  Fiber* fiber = spare_fibers.back();
  spare_fibers.pop_back();
  return fiber;
}

// Runs threads that haven't begun until there are none; then it is spare.
void KernelRun::fiber_main() {
  for (;;) {
    while (launched->start_next()) {
      running = launched;
      launched->call_.run_thread();
      running = nullptr;
      launched->finish_thread();
    }
    Fiber* self = launched->running_;
    spare_fibers.push_back(self);
    self->leave();
  }
}

bool KernelRun::start_next() {
  // Threads that wait no longer may have their turn before the rest begins.
  if (started_ == count_ || (!ready_.empty() && settings().order == Order::random)) return false;
  set_place(order_[started_++]);
  return true;
}

void KernelRun::set_place(uint32_t thread) {
  current_ = thread;
  place.thread = positions_[thread];
}

void KernelRun::finish_thread() {
  threads_[current_].state = State::finished;
  ++finished_;
  if (waiting_ > 0) {
    fail("all threads of a block come to a barrier, or none",
         name_of(first_waiting_) + " at " + text_of(threads_[first_waiting_].site) + ", " +
             name_of(current_) + " ended",
         kBarrierPage);
  }
  Warp& warp = warps_[current_ / kWarp];
  if (warp.arrived && (warp.mask >> (current_ % kWarp) & 1)) {
    fail("every lane that the mask names takes part",
         name_of(current_) + " ended, the mask at " + text_of(warp.site) + " names it",
         kShufflePage);
  }
}

void KernelRun::park(State state) {
  Thread& thread = threads_[current_];
  thread.state = state;
  thread.fiber = running_;
  running_->leave();
}

void KernelRun::resume(uint32_t thread) {
  set_place(thread);
  threads_[thread].state = State::running;
  go_to(threads_[thread].fiber);
}

uint32_t KernelRun::choose_ready() {
  size_t i = 0;
  if (settings().order == Order::reverse) i = ready_.size() - 1;
  if (settings().order == Order::random) i = random_below(ready_.size());
  std::swap(ready_[i], ready_.back());
  const uint32_t thread = ready_.back();
  ready_.pop_back();
  return thread;
}

void KernelRun::barrier(Site site) {
  Thread& thread = threads_[current_];
  thread.site = site;
  if (finished_ > 0) {
    fail("all threads of a block come to a barrier, or none",
         name_of(current_) + " at " + text_of(site) + ", " + std::to_string(finished_) +
             " threads ended",
         kBarrierPage);
  }
  if (waiting_ == 0) {
    first_waiting_ = current_;
  } else if (!same(site, threads_[first_waiting_].site)) {
    fail("all threads of a block come to the same barrier",
         name_of(first_waiting_) + " at " + text_of(threads_[first_waiting_].site) + ", " +
             name_of(current_) + " at " + text_of(site),
         kBarrierPage);
  }
  if (++waiting_ == count_) return open_barrier();
  park(State::at_barrier);
}

void KernelRun::open_barrier() {
  waiting_ = 0;
  ++epoch_;
  for (uint32_t i = 0; i < count_; ++i) {
    if (threads_[i].state != State::at_barrier) continue;
    threads_[i].state = State::ready;
    ready_.push_back(i);
  }
  if (settings().order != Order::random || random_below(2)) return;
  // The last to come isn't always the first to go on.
  ready_.push_back(current_);
  park(State::ready);
}

void KernelRun::exchange(const Exchange& wanted, void* value, size_t bytes, void* all) {
  const unsigned lane = current_ % kWarp;
  Warp& warp = warps_[current_ / kWarp];
  const unsigned first = current_ - lane;
  const auto names = [&](unsigned l) { return wanted.mask >> l & 1; };
  const auto at = [&] { return " at " + text_of(wanted.site); };
  if (!names(lane)) {
    fail("the mask of a shuffle names the caller",
         "mask " + std::to_string(wanted.mask) + ", lane " + std::to_string(lane) + at(),
         kShufflePage);
  }
  // Who ends while others wait is found by finish_thread().
  for (unsigned l = 0; l < kWarp && !warp.arrived; ++l) {
    if (!names(l)) continue;
    if (first + l >= count_ || threads_[first + l].state == State::finished) {
      fail("every lane that the mask names takes part",
           "lane " + std::to_string(l) + " that " +
               (first + l >= count_ ? "the block doesn't have" : "has ended") + at(),
           kShufflePage);
    }
  }
  if (warp.arrived && (warp.mask != wanted.mask || !same(warp.site, wanted.site))) {
    fail("lanes that shuffle do so in the same place, with the same mask",
         name_of(current_) + at() + ", others at " + text_of(warp.site), kShufflePage);
  }
  if (wanted.source >= kWarp || (wanted.source >= 0 && !names(wanted.source))) {
    fail("the lane that a shuffle reads takes part in it",
         "lane " + std::to_string(wanted.source) + ", mask " + std::to_string(wanted.mask) + at(),
         kShufflePage);
  }
  threads_[current_].site = wanted.site;
  warp.mask = wanted.mask;
  warp.site = wanted.site;
  warp.arrived |= 1u << lane;
  unsigned char(*values)[16] = warp.values[warp.generation & 1];
  std::memcpy(values[lane], value, bytes);
  if (warp.arrived == warp.mask) {
    warp.arrived = 0;
    ++warp.generation;
    if (bytes == 0) ++warp.syncs;
    for (unsigned l = 0; l < kWarp && first + l < count_; ++l) {
      if (threads_[first + l].state != State::at_exchange) continue;
      threads_[first + l].state = State::ready;
      ready_.push_back(first + l);
    }
  } else {
    park(State::at_exchange);
  }
  if (wanted.source >= 0) std::memcpy(value, values[wanted.source], bytes);
  if (all) std::memcpy(all, values, sizeof warp.values[0]);
}

void* KernelRun::shared_memory(const void* site, size_t bytes, size_t alignment) {
  for (const SharedArray& array : shared_arrays_) {
    if (array.site == site) return shared_.get() + array.offset;
  }
  if (!shared_) {
    shared_ = std::make_unique_for_overwrite<unsigned char[]>(kArenaBytes);
    shared_state_ = std::make_unique<unsigned char[]>(kArenaBytes);
  }
  const uintptr_t base = reinterpret_cast<uintptr_t>(shared_.get());
  const size_t offset =
      (base + shared_used_ + kRedZone + alignment - 1) / alignment * alignment - base;
  size_t declared = bytes;
  for (const SharedArray& array : shared_arrays_) declared += array.bytes;
  if (declared > kSharedBytes) {
    fail("a block has at most 48 KiB of static shared memory", std::to_string(declared) + " bytes",
         kSharedPage);
  }
  std::memset(shared_.get() + offset, 0xff, bytes);
  std::memset(shared_state_.get() + offset, kDeclared, bytes);
  shared_arrays_.push_back({site, offset, bytes});
  shared_used_ = offset + bytes;
  return shared_.get() + offset;
}

std::string KernelRun::name_of(uint32_t thread) const {
  return "thread " + text_of(position(thread, block_));
}

std::string KernelRun::where() const {
  return "kernel " + name_of_code(call_.function) + ", block " + text_of(place.block) + ", " +
         name_of(current_);
}

void KernelRun::fail(const std::string& rule, const std::string& got, const char* page) {
  failed_ = true;
  report(where(), rule, got, page);
  running_->leave();
  __builtin_unreachable();
}

void KernelRun::report_deadlock() {
  std::string got;
  for (uint32_t i = 0; i < count_; ++i) {
    const Thread& thread = threads_[i];
    if (thread.state != State::at_barrier && thread.state != State::at_exchange) continue;
    if (!got.empty()) got += ", ";
    if (got.size() > 300) {
      got += "...";
      break;
    }
    got += name_of(i) + " at " + text_of(thread.site);
  }
  failed_ = true;
  report(where(), "a thread waits for those that come", got, kBarrierPage);
}

// What kernel.h declares: here a kernel's code ends, and the double's begins.

void barrier(Site site) {
  const OutsideKernel outside;
  launched->barrier(site);
}

void exchange(const Exchange& wanted, void* value, size_t bytes) {
  const OutsideKernel outside;
  launched->exchange(wanted, value, bytes);
}

void exchange_all(const void* value, void* all, Site site) {
  const OutsideKernel outside;
  unsigned char own[16];
  std::memcpy(own, value, sizeof own);
  launched->exchange({0xffffffffu, -1, site}, own, sizeof own, all);
}

void meet_for_matrix(const void* matrix, size_t step, Site site) {
  const OutsideKernel outside;
  const uintptr_t address = reinterpret_cast<uintptr_t>(matrix);
  if (address % 32 != 0 || step % 16 != 0) {
    launched->fail("a matrix lies at a multiple of 32 bytes, its rows at multiples of 16",
                   "..." + std::to_string(address % 256) + ", rows " + std::to_string(step) +
                       " bytes apart at " + text_of(site),
                   kMatrixPage);
  }
  // The lanes load or store one matrix together.
  const void* matrices[kWarp][2];
  const void* const own[2] = {matrix, nullptr};
  static_assert(sizeof own == 16);
  exchange_all(own, matrices, site);
  for (const auto& other : matrices) {
    if (other[0] == matrix) continue;
    launched->fail("all lanes of a warp give the same matrix", "two at " + text_of(site),
                   kMatrixPage);
  }
}

int lane() { return static_cast<int>(launched->thread_number() % kWarp); }

void* shared_memory(const void* site, size_t bytes, size_t alignment) {
  const OutsideKernel outside;
  return launched->shared_memory(site, bytes, alignment);
}

void check_width(int width, Site site) {
  if (width > 0 && width <= kWarp && (width & (width - 1)) == 0) return;
  const OutsideKernel outside;
  launched->fail("the width of a shuffle is a power of two up to 32",
                 std::to_string(width) + " at " + text_of(site), kShufflePage);
}

}  // namespace aorta::emulated
