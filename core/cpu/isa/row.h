#pragma once

// What the row kernels share. Included only by cpu/isa/*.cc, inside their namespaces' reach.

#include <aorta/core/cpu/pointwise_rows.h>
#include <aorta/core/scalar/op_list.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using scalar::TypeList;

/// Element i of an array of T; a bool may be any byte in memory, and all but 0 are true.
template <class T>
AORTA_INLINE T load(const char* data, int64_t i) {
  if constexpr (std::is_same_v<T, bool>)
    return reinterpret_cast<const uint8_t*>(data)[i] != 0;
  else
    return reinterpret_cast<const T*>(data)[i];
}

template <class T>
AORTA_INLINE void store(char* data, int64_t i, T value) {
  if constexpr (std::is_same_v<T, bool>)
    reinterpret_cast<uint8_t*>(data)[i] = value ? 1 : 0;
  else
    reinterpret_cast<T*>(data)[i] = value;
}

/// F has another way for operands of T that most of them go, has_short_quotient, and which is a
/// loop of vectors where a fused multiply-add is one instruction.
template <class F, class T>
concept OfShortQuotients = AORTA_HAS_FMA != 0 &&
                           std::is_floating_point_v<T>&& requires(const F& f, T x) {
  f.of_short_quotient(x, x);
};

/// result[j] = f(x(j), y(j)) of a block, by the other way where all of its operands go it.
template <class F, class T, class X, class Y>
AORTA_INLINE void compute_quotients(const F& f, int count, const X& x, const Y& y, T* result) {
  int are_short = 1;
  for (int j = 0; j < count; ++j) {
    result[j] = f.of_short_quotient(x(j), y(j));
    are_short &= int{scalar::has_short_quotient(x(j), y(j))};
  }
  if (are_short) [[likely]]
    return;
  for (int j = 0; j < count; ++j) result[j] = f(x(j), y(j));
}

/// The types that functors compute in, in the order of DType; half types are converted around them.
template <class F, template <class, class> class Row>
constexpr void fill_rows(RowFunction* rows) {
  const auto set = [&]<class T>(DType dtype, T) {
    if constexpr (scalar::computes_in<F, T>()) rows[static_cast<int>(dtype)] = &Row<F, T>::run;
  };
  set(DType::f32, float{});
  set(DType::f64, double{});
  set(DType::i64, int64_t{});
  set(DType::i32, int32_t{});
  set(DType::u8, uint8_t{});
  set(DType::boolean, bool{});
}

template <int count>
struct RowTable {
  RowFunction rows[count * kDTypeCount] = {};
};

template <template <class, class> class Row, class... Fs>
constexpr RowTable<sizeof...(Fs)> make_rows(TypeList<Fs...>) {
  RowTable<sizeof...(Fs)> table;
  int op = 0;
  (fill_rows<Fs, Row>(table.rows + kDTypeCount * op++), ...);
  return table;
}

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
