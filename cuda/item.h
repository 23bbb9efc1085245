#pragma once

#include <cstdint>

namespace aorta::cuda {

/// Calls `f` with an unsigned integer as wide as an element of `size` bytes: what moves elements
/// doesn't look inside.
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

}  // namespace aorta::cuda
