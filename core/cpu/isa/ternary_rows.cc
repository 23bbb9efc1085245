#include <aorta/core/cpu/isa/row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class F, class T>
struct TernaryRow {
  using First = std::conditional_t<scalar::masks_of<F>() == 1, bool, T>;
  static void run(const void* functor, int64_t n, char* const* data, unsigned) {
    const F f = *static_cast<const F*>(functor);
    char* const out = data[0];
    const char* const a = data[1];
    const char* const b = data[2];
    const char* const c = data[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      store(out, i, f(load<First>(a, i), load<T>(b, i), load<T>(c, i)));
    }
  }
};

constexpr auto kRows = make_rows<TernaryRow>(scalar::TernaryOps{});

}  // namespace

const RowFunction* ternary_rows() { return kRows.rows; }

}  // namespace aorta::cpu::AORTA_ISA
