#include <aorta/core/cpu/isa/half_row.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class F, class T>
struct UnaryRow {
  static void run(const void* functor, int64_t n, char* const* data, unsigned broadcast) {
    const F f = *static_cast<const F*>(functor);
    if constexpr (requires { typename F::Simpler; }) {
      if (f.is_simpler()) return UnaryRow<typename F::Simpler, T>::run(functor, n, data, broadcast);
    }
    char* const out = data[0];
    const char* const x = data[1];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) store(out, i, f(load<T>(x, i)));
  }
};

constexpr auto kRows = with_half_rows(make_rows<UnaryRow>(scalar::UnaryOps{}), scalar::UnaryOps{});

}  // namespace

const RowFunction* unary_rows() { return kRows.rows; }

}  // namespace aorta::cpu::AORTA_ISA
