#pragma once

#include <aorta/core/cpu/isa/row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class F, class T>
struct BinaryRow {
  static void run(const void* functor, int64_t n, char* const* data, unsigned broadcast) {
    const F f = *static_cast<const F*>(functor);
    char* const out = data[0];
    const char* const a = data[1];
    const char* const b = data[2];
    // An operand that is one for all is read in the loop: GCC doesn't vectorise a loop in which a
    // condition on it, as those of pow, is known before.
    if (broadcast == 2) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) store(out, i, f(load<T>(a, 0), load<T>(b, i)));
    } else if (broadcast == 4) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) store(out, i, f(load<T>(a, i), load<T>(b, 0)));
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) store(out, i, f(load<T>(a, i), load<T>(b, i)));
    }
  }
};

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
