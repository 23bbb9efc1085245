#pragma once

#include <aorta/core/integers.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace aorta::cpu {

/// Large blocks, cut to whole pages from segments of the system's memory. A freed block joins the
/// free ones beside it, and the smallest free one that is large enough serves a request: blocks of
/// any sizes follow one another in the same memory. What was never handed out takes no memory. Not
/// thread-safe.
class Heap {
 public:
  /// What a request is rounded up to.
  static int64_t rounded(int64_t bytes) { return round_up(bytes, kPage); }

  /// `bytes` whole pages, aligned to a page; nullptr when the system has no more.
  void* take(int64_t bytes);
  void give(void* data, int64_t bytes);
  /// Returns the free blocks to the system.
  void clear();
  /// The bytes that the free blocks hold together.
  int64_t bytes_free() const { return bytes_free_; }
  /// Times that the system was asked for a segment.
  int64_t segments() const { return segments_; }

 private:
  static constexpr int64_t kPage = 4096;
  using Blocks = std::map<char*, int64_t>;  // begin -> bytes

  bool add_segment(int64_t bytes);
  void insert(char* data, int64_t bytes);
  void erase(Blocks::iterator block);

  Blocks by_address_;
  std::set<std::pair<int64_t, char*>> by_size_;
  char* fresh_ = nullptr;  // what is left of the last segment
  char* fresh_end_ = nullptr;
  int64_t reserved_ = 0, bytes_free_ = 0, segments_ = 0;
};

}  // namespace aorta::cpu
