#pragma once

#include <aorta/core/allocator.h>
#include <aorta/core/integers.h>

namespace aorta::cpu {

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
/// The i-th of `parts` nearly equal parts of [0, count).
inline Range part_of(int64_t count, int64_t parts, int64_t i) {
  return {count * i / parts, count * (i + 1) / parts};
}

/// Memory of a kernel's own, from the caching allocator.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : data_(static_cast<char*>(allocate(bytes))), bytes_(bytes) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  char* data() const { return data_; }

 private:
  char* data_;
  int64_t bytes_;
};

}  // namespace aorta::cpu
