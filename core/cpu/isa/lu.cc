#include <aorta/core/cpu/lu.h>
#include <aorta/core/scalar/bits.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class T>
AORTA_INLINE void exchange(T& a, T& b) {
  const T was = a;
  a = b;
  b = was;
}

// y -= factor x.
template <class T>
AORTA_INLINE void subtract(T* y, T factor, const T* x, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] -= factor * x[i];
}

// The place of the largest in a column, from `first` on.
template <class T>
AORTA_INLINE int64_t pivot_place(const MatrixPart<T>& a, int64_t column, int64_t first) {
  int64_t place = first;
  for (int64_t i = first + 1; i < a.rows; ++i)
    if (scalar::abs(a.row(i)[column]) > scalar::abs(a.row(place)[column])) place = i;
  return place;
}

// Rows of `lanes` numbers, of which the first a.columns count.
template <class T>
AORTA_INLINE void factor_rows(const MatrixPart<T>& a, int64_t lanes, int32_t* pivots) {
  int64_t place = pivot_place(a, 0, 0);
  for (int64_t j = 0; j < a.columns; ++j) {
    pivots[j] = static_cast<int32_t>(place) + 1;
    const T pivot = a.row(place)[j];
    const bool is_last = j + 1 == a.columns;
    if (pivot == T(0)) {
      if (!is_last) place = pivot_place(a, j + 1, j + 1);
      continue;
    }
    if (place != j)
      for (int64_t k = 0; k < lanes; ++k) exchange(a.row(j)[k], a.row(place)[k]);
    T right[kNarrow];  // of the pivot
    for (int64_t k = 0; k < lanes; ++k) right[k] = k > j ? a.row(j)[k] : T(0);
    const int64_t next = is_last ? j : j + 1;
    T largest = T(-1);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      T* const row = a.row(i);
      const T factor = row[j] / pivot;
      subtract(row, factor, right, lanes);
      row[j] = factor;
      const T size = scalar::abs(row[next]);
      place = size > largest ? i : place;
      largest = size > largest ? size : largest;
    }
  }
}

template <class T>
void factor(const MatrixPart<T>& a, int32_t* pivots) {
  if (a.columns == kNarrow) return factor_rows(a, kNarrow, pivots);
  if (a.rows > kNarrow) return factor_rows(a, a.columns, pivots);
  // A small matrix gets rows of whole vectors.
  T room[kNarrow * kNarrow];
  const MatrixPart<T> wide{room, a.rows, a.columns, kNarrow};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < kNarrow; ++k) wide.row(i)[k] = k < a.columns ? a.row(i)[k] : T(0);
  factor_rows(wide, kNarrow, pivots);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k) a.row(i)[k] = wide.row(i)[k];
}

template <class T>
void solve_lower(const MatrixPart<T>& factors, const MatrixPart<T>& b) {
  for (int64_t i = 1; i < b.rows; ++i)
    for (int64_t k = 0; k < i; ++k) subtract(b.row(i), factors.row(i)[k], b.row(k), b.columns);
}

template <class T>
void solve_upper(const MatrixPart<T>& factors, const MatrixPart<T>& b) {
  for (int64_t i = b.rows - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < b.rows; ++k)
      subtract(b.row(i), factors.row(i)[k], b.row(k), b.columns);
    const T pivot = factors.row(i)[i];
    for (int64_t j = 0; j < b.columns; ++j) b.row(i)[j] /= pivot;
  }
}

}  // namespace

const LuLoops lu_loops = {.f32 = {factor<float>, solve_lower<float>, solve_upper<float>},
                          .f64 = {factor<double>, solve_lower<double>, solve_upper<double>}};

}  // namespace aorta::cpu::AORTA_ISA
