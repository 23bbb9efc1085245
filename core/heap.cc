#include <aorta/core/heap.h>

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace aorta::cpu {
namespace {

constexpr int64_t kHugePage = 2 << 20;
// A segment has as many bytes as there were in all segments before it, within these.
constexpr int64_t kLeast = 64 << 20, kMost = int64_t{1} << 30;

// Aligned to huge pages and made of them, where the system has them.
char* map_pages(int64_t bytes) {
  const int64_t with_room = bytes + kHugePage;
  void* const data = mmap(nullptr, static_cast<size_t>(with_room), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // The system maps downwards: kept is the end, so that segments lie side by side.
  char* const begin = static_cast<char*>(data);
  const int64_t past =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(begin + with_room)) % kHugePage;
  char* const end = begin + with_room - past;
  if (past > 0) munmap(end, static_cast<size_t>(past));
  if (past < kHugePage) munmap(begin, static_cast<size_t>(kHugePage - past));
  madvise(end - bytes, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return end - bytes;
}

}  // namespace

void* Heap::take(int64_t bytes) {
  const auto fit = by_size_.lower_bound({bytes, nullptr});
  if (fit != by_size_.end()) {
    const auto [size, data] = *fit;
    erase(by_address_.find(data));
    if (size > bytes) insert(data + bytes, size - bytes);
    return data;
  }
  // The free block that ends where the fresh memory begins goes with it.
  const auto starts_at = [this] {
    const auto next = by_address_.lower_bound(fresh_);
    if (next == by_address_.begin()) return by_address_.end();
    const auto last = std::prev(next);
    return last->first + last->second == fresh_ ? last : by_address_.end();
  };
  auto last = starts_at();
  const auto reach = [&] {
    return fresh_end_ - (last == by_address_.end() ? fresh_ : last->first);
  };
  if (reach() < bytes) {
    if (!add_segment(bytes)) return nullptr;
    last = starts_at();
  }
  char* data = fresh_;
  if (last != by_address_.end()) {
    data = last->first;
    erase(last);
  }
  fresh_ = data + bytes;
  return data;
}

void Heap::give(void* data, int64_t bytes) {
  char* begin = static_cast<char*>(data);
  auto next = by_address_.lower_bound(begin);
  if (next != by_address_.end() && next->first == begin + bytes) {
    bytes += next->second;
    const auto joined = next++;
    erase(joined);
  }
  if (next != by_address_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      erase(before);
    }
  }
  insert(begin, bytes);
}

void Heap::clear() {
  for (const auto& [data, bytes] : by_address_) munmap(data, static_cast<size_t>(bytes));
  reserved_ -= bytes_free_;
  by_address_.clear();
  by_size_.clear();
  bytes_free_ = 0;
}

bool Heap::add_segment(int64_t bytes) {
  const int64_t whole = round_up(bytes, kHugePage);
  int64_t size = std::max(whole, std::clamp(reserved_, kLeast, kMost) / kHugePage * kHugePage);
  char* segment = map_pages(size);
  if (!segment && size > whole) {
    size = whole;
    segment = map_pages(size);
  }
  if (!segment) return false;
  ++segments_;
  if (fresh_ < fresh_end_) {
    munmap(fresh_, static_cast<size_t>(fresh_end_ - fresh_));
    reserved_ -= fresh_end_ - fresh_;
  }
  reserved_ += size;
  fresh_ = segment;
  fresh_end_ = segment + size;
  return true;
}

void Heap::insert(char* data, int64_t bytes) {
  by_address_.emplace(data, bytes);
  by_size_.emplace(bytes, data);
  bytes_free_ += bytes;
}

void Heap::erase(Blocks::iterator block) {
  by_size_.erase({block->second, block->first});
  bytes_free_ -= block->second;
  by_address_.erase(block);
}

}  // namespace aorta::cpu
