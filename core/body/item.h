#pragma once

#include <cstdint>

namespace aorta::body {

/// Calls `f(Item{})` with the unsigned integer of `size` bytes (1, 2, 4 or 8): what moves elements
/// needs their size alone.
template <class F>
void visit_item(int64_t size, const F& f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace aorta::body
