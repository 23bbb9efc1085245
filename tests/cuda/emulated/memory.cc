#include <aorta/tests/cuda/emulated/block.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/pieces.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace aorta::emulated {
namespace {

constexpr size_t kAlignment = 512;  // at least the 256 that cudaMalloc promises
constexpr size_t kGap = 4096;       // between allocations: nobody's
constexpr size_t kLargePage = 2 << 20, kMostOpening = size_t{1} << 30;

/// True when each page of a range is there.
bool is_mapped(uintptr_t begin, size_t bytes) {
  const uintptr_t first = begin & ~uintptr_t{4095};
  std::vector<unsigned char> pages((begin + bytes - first + 4095) / 4096);
  return mincore(reinterpret_cast<void*>(first), begin + bytes - first, pages.data()) == 0;
}

uintptr_t round_up(uintptr_t address, size_t to) { return (address + to - 1) / to * to; }

char* reserve(size_t bytes, int protection) {
  void* memory =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("emulated device: address space");
    std::abort();
  }
  return static_cast<char*>(memory);
}

// The host touched what isn't its own. What else faults is left to who was asked before.
struct sigaction previous_action;

void on_fault(int signal, siginfo_t* info, void*) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (Memory::get().open_at(address)) return;
  if (Memory::get().device_of(address) >= 0) {
    const std::string what = Memory::get().describe(address);
    std::fprintf(stderr,
                 "emulated device: %s: device memory is for kernels and copies alone, got %s "
                 "[docs.nvidia.com/cuda/cuda-c-programming-guide, Device Memory]\n",
                 running ? running->where().c_str() : "host code", what.c_str());
  }
  sigaction(signal, &previous_action, nullptr);
}

}  // namespace

Memory& Memory::get() {
  static Memory* memory = new Memory;
  return *memory;
}

Memory::Memory() {
  const size_t span = kDeviceSpan * kMostDevices;
  base_ = round_up(reinterpret_cast<uintptr_t>(reserve(span + kLargePage, PROT_NONE)), kLargePage);
  madvise(reinterpret_cast<void*>(base_), span, MADV_HUGEPAGE);
  // Four bytes more: an access looks at a word of bits.
  allocated_ = reinterpret_cast<uint8_t*>(reserve(span / 8 + 4, PROT_READ | PROT_WRITE));
  written_ = reinterpret_cast<uint8_t*>(reserve(span / 8 + 4, PROT_READ | PROT_WRITE));
  for (int d = 0; d < kMostDevices; ++d) arenas_[d].top = base_ + d * kDeviceSpan;
  next_opening_ = kLargePage;
  opened_.reserve(256);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &previous_action);
}

void* Memory::allocate_device(int device, size_t bytes) {
  Arena& arena = arenas_[device];
  if (bytes > settings().device_bytes - arena.used) return nullptr;
  // Large pages of its own where it is large: its protection is switched again and again.
  const uintptr_t begin = bytes < kLargePage ? arena.top : round_up(arena.top, kLargePage);
  const uintptr_t end = round_up(begin + bytes + kGap, kAlignment);
  if (end > base_ + (device + 1) * kDeviceSpan) {
    std::fprintf(stderr, "emulated device: the addresses of a device are used up\n");
    std::abort();
  }
  const DeviceAccess access;
  arena.top = end;
  arena.used += bytes;
  std::memset(reinterpret_cast<void*>(begin), 0xff, bytes);
  set_bits(allocated_, begin, bytes, true);
  // What kernels write isn't noted then.
  if (!checks_accesses) set_bits(written_, begin, bytes, true);
  allocations_[begin] = {.begin = begin,
                         .bytes = bytes,
                         .kind = Allocation::Kind::device,
                         .device = device,
                         .live = true,
                         .number = next_number_++};
  return reinterpret_cast<void*>(begin);
}

void* Memory::allocate_pinned(int device, size_t bytes) {
  void* data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  std::memset(data, 0xff, bytes);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  host_[begin] = {.begin = begin,
                  .bytes = bytes,
                  .kind = Allocation::Kind::pinned,
                  .device = device,
                  .live = true,
                  .number = next_number_++};
  return data;
}

void Memory::register_host(int device, void* data, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  host_[begin] = {.begin = begin,
                  .bytes = bytes,
                  .kind = Allocation::Kind::registered,
                  .device = device,
                  .live = true,
                  .number = next_number_++};
}

void Memory::release(const Allocation& allocation) {
  const Allocation gone = allocation;
  Pieces::get().drop(gone.begin, gone.bytes);
  if (gone.kind != Allocation::Kind::device) {
    host_.erase(gone.begin);
    void* data = reinterpret_cast<void*>(gone.begin);
    if (gone.kind == Allocation::Kind::pinned) {
      std::memset(data, 0xff, gone.bytes);
      std::free(data);
    }
    return;
  }
  set_bits(allocated_, gone.begin, gone.bytes, false);
  set_bits(written_, gone.begin, gone.bytes, false);
  arenas_[gone.device].used -= gone.bytes;
  allocations_[gone.begin].live = false;
  // Whole pages go back to the system.
  const uintptr_t first = (gone.begin + 4095) & ~uintptr_t{4095};
  const uintptr_t last = (gone.begin + gone.bytes) & ~uintptr_t{4095};
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

const Allocation* Memory::find(uintptr_t address) const {
  const auto& pieces = device_of(address) >= 0 ? allocations_ : host_;
  auto place = pieces.upper_bound(address);
  if (place == pieces.begin()) return nullptr;
  const Allocation& piece = (--place)->second;
  return piece.live && address - piece.begin < piece.bytes ? &piece : nullptr;
}

void Memory::check_registered() const {
  for (const auto& [begin, piece] : host_) {
    if (piece.kind == Allocation::Kind::registered && !is_mapped(begin, piece.bytes)) {
      report("cudaHostRegister", "memory stays mapped until it is unregistered",
             describe(begin) + " that is no longer mapped", page::kMemory);
    }
  }
}

const Allocation* Memory::find_locked(uintptr_t begin, size_t bytes) const {
  auto place = host_.lower_bound(begin + bytes);
  if (place == host_.begin()) return nullptr;
  const Allocation& piece = (--place)->second;
  return piece.begin + piece.bytes > begin ? &piece : nullptr;
}

void Memory::set_bits(uint8_t* bits, uintptr_t address, size_t bytes, bool value) {
  uintptr_t i = address - base_;
  const uintptr_t end = i + bytes;
  const auto set = [&](uintptr_t bit) {
    const uint8_t mask = static_cast<uint8_t>(1u << bit % 8);
    bits[bit / 8] = static_cast<uint8_t>(value ? bits[bit / 8] | mask : bits[bit / 8] & ~mask);
  };
  for (; i < end && i % 8 != 0; ++i) set(i);
  const uintptr_t whole = (end - i) / 8;
  std::memset(bits + i / 8, value ? 0xff : 0, whole);
  for (i += whole * 8; i < end; ++i) set(i);
}

void Memory::set_written(uintptr_t address, size_t bytes) {
  if (checks_accesses && device_of(address) >= 0) set_bits(written_, address, bytes, true);
}

void Memory::forget_written(uintptr_t address, size_t bytes) {
  if (checks_accesses && device_of(address) >= 0) set_bits(written_, address, bytes, false);
}

void Memory::set_allocated(uintptr_t address, size_t bytes) {
  if (device_of(address) >= 0) set_bits(allocated_, address, bytes, true);
}

void Memory::lend(uintptr_t address, size_t bytes, const std::vector<uint8_t>& written) {
  if (device_of(address) < 0) return;
  set_bits(allocated_, address, bytes, true);
  // What kernels write isn't noted then.
  if (!checks_accesses) return set_bits(written_, address, bytes, true);
  if (written.empty()) return;
  const uintptr_t begin = address - base_, end = begin + bytes;
  uint8_t* const bits = written_ + begin / 8;
  // The first byte of bits and the last may be a neighbour's too.
  const auto merge = [&](size_t i, unsigned mask) {
    bits[i] = static_cast<uint8_t>((bits[i] & ~mask) | (written[i] & mask));
  };
  const size_t last = written.size() - 1;
  const unsigned first_mask = 0xffu << begin % 8 & 0xff, last_mask = 0xffu >> (8 - end % 8) % 8;
  if (last == 0) return merge(0, first_mask & last_mask);
  merge(0, first_mask);
  std::memcpy(bits + 1, written.data() + 1, last - 1);
  merge(last, last_mask);
}

std::vector<uint8_t> Memory::take_back(uintptr_t address, size_t bytes) {
  if (device_of(address) < 0) return {};
  const uintptr_t begin = address - base_, end = begin + bytes;
  std::vector<uint8_t> written(written_ + begin / 8, written_ + (end + 7) / 8);
  set_bits(allocated_, address, bytes, false);
  set_bits(written_, address, bytes, false);
  return written;
}

bool Memory::all_bits(const uint8_t* bits, uintptr_t address, size_t bytes,
                      size_t& first_bad) const {
  for (size_t i = 0; i < bytes;) {
    const uintptr_t bit = address - base_ + i;
    if (bit % 64 == 0 && bytes - i >= 64) {
      uint64_t word;
      std::memcpy(&word, bits + bit / 8, sizeof word);
      if (word == ~uint64_t{0}) {
        i += 64;
        continue;
      }
    }
    if (!(bits[bit / 8] >> bit % 8 & 1)) {
      first_bad = i;
      return false;
    }
    ++i;
  }
  return true;
}

std::string Memory::describe(uintptr_t address) const {
  char text[256];
  const auto say = [&](const char* what, const Allocation& piece) {
    std::snprintf(text, sizeof text, "%s%s, %zu bytes into a block of %zu",
                  piece.live ? "" : "freed ", what, static_cast<size_t>(address - piece.begin),
                  piece.bytes);
    return std::string(text);
  };
  const int device = device_of(address);
  if (device < 0) {
    if (const Allocation* piece = find(address)) {
      return say(
          piece->kind == Allocation::Kind::pinned ? "page-locked memory" : "registered memory",
          *piece);
    }
    return address == 0 ? "a null pointer" : "pageable host memory";
  }
  const std::string owner = "memory of cuda:" + std::to_string(device);
  auto place = allocations_.upper_bound(address);
  if (place == allocations_.begin()) return owner + " that was never allocated";
  const Allocation& piece = (--place)->second;
  if (piece.device != device) return owner + " that was never allocated";
  if (const auto* part = Pieces::get().find(address)) {
    return say(owner.c_str(), {.begin = part->first, .bytes = part->second});
  }
  const bool kept = piece.live && Pieces::get().is_heap(address);
  return say((owner + (kept ? " that its allocator keeps" : "")).c_str(), piece);
}

std::string Memory::problem(const void* data, size_t bytes, Access access, int device,
                            bool pageable_too) const {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  const Allocation* piece = find(begin);
  const int owner = device_of(begin);
  if (!piece && owner < 0) {
    // Registered in part: the driver would take it for one kind and the rest isn't.
    if (find_locked(begin, bytes)) return "memory that is registered in part";
    return pageable_too && data ? "" : describe(begin);
  }
  if (!piece) return describe(begin);
  if (begin + bytes > piece->begin + piece->bytes) {
    return std::to_string(bytes) + " bytes of " + describe(begin);
  }
  if (access != Access::named && !Pieces::get().is_lent(begin, bytes)) {
    return std::to_string(bytes) + " bytes of " + describe(begin);
  }
  if (piece->kind == Allocation::Kind::registered && !is_mapped(piece->begin, piece->bytes)) {
    return describe(begin) + " that is no longer mapped";
  }
  if (owner < 0) return "";
  if (device >= 0 && owner != device && !peer_access[device][owner]) {
    return describe(begin) + " without peer access from cuda:" + std::to_string(device);
  }
  size_t bad = 0;
  if (access == Access::read && !all_bits(written_, begin, bytes, bad)) {
    return "bytes never written: " + describe(begin + bad);
  }
  return "";
}

bool Memory::open_at(uintptr_t address) {
  const int device = device_of(address);
  if (device < 0 || open_ == 0) return false;
  const uintptr_t top = round_up(arenas_[device].top, kLargePage);
  const uintptr_t begin = address / kLargePage * kLargePage;
  if (address >= top) return false;
  for (const Range& range : opened_) {
    if (address >= range.begin && address < range.end) return false;
  }
  const uintptr_t end = std::min(begin + next_opening_, top);
  next_opening_ = std::min(2 * next_opening_, kMostOpening);
  opened_.push_back({begin, end});
  return mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0;
}

// Done at each piece of work, it would be most of the time that the other modes take.
void Memory::close() {
  if (settings().mode != Mode::lazy) return;
  for (const Range& range : opened_)
    mprotect(reinterpret_cast<void*>(range.begin), range.end - range.begin, PROT_NONE);
  opened_.clear();
  next_opening_ = kLargePage;
}

DeviceAccess::DeviceAccess() { ++Memory::get().open_; }

DeviceAccess::~DeviceAccess() {
  Memory& memory = Memory::get();
  if (--memory.open_ == 0) memory.close();
}

}  // namespace aorta::emulated
