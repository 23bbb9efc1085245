#pragma once

#include <aorta/core/cpu/isa/row.h>

#include <cstring>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class F, class T>
struct BinaryRow {
  static void run(const void* functor, int64_t n, char* const* data, unsigned broadcast) {
    const F f = *static_cast<const F*>(functor);
    char* const out = data[0];
    const char* const a = data[1];
    const char* const b = data[2];
    if constexpr (OfShortQuotients<F, T>) {
      if (broadcast == 2) return run_quotients<0, 1>(f, n, out, a, b);
      if (broadcast == 4) return run_quotients<1, 0>(f, n, out, a, b);
      return run_quotients<1, 1>(f, n, out, a, b);
    }
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

 private:
  template <int step_a, int step_b>
  static void run_quotients(const F& f, int64_t n, char* out, const char* a, const char* b) {
    constexpr int kBlock = 64;
    for (int64_t i = 0; i < n; i += kBlock) {
      const int count = static_cast<int>(least(kBlock, n - i));
      T result[kBlock];
      compute_quotients(
          f, count, [&](int j) { return load<T>(a, step_a * (i + j)); },
          [&](int j) { return load<T>(b, step_b * (i + j)); }, result);
      std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), result,
                  static_cast<size_t>(count) * sizeof(T));
    }
  }
};

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
