#pragma once

#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// Part of a row-major matrix of float or double.
template <class T>
struct MatrixPart {
  T* data;
  int64_t rows, columns;
  int64_t stride;  // elements from row to row

  AORTA_INLINE T* row(int64_t i) const { return data + i * stride; }
  AORTA_INLINE MatrixPart part(int64_t row, int64_t column, int64_t row_count,
                               int64_t column_count) const {
    return {data + row * stride + column, row_count, column_count, stride};
  }
};

/// P A = L U in place by partial pivoting, as LAPACK's getrf: U with its diagonal, and below it L,
/// whose diagonal is 1. Row j was exchanged with row pivots[j] - 1, for j = 0, 1, ...,
/// min(rows, columns) - 1. A column without a pivot stays, and leaves 0 on the diagonal.
template <class T>
void lu_factor(const MatrixPart<T>& a, int32_t* pivots);
/// The exchanges of rows that lu_factor made, of another matrix.
template <class T>
void exchange_rows(const MatrixPart<T>& b, const int32_t* pivots, int64_t count);
/// X of L X = B or U X = B in place of B, by the factors as lu_factor leaves them.
template <class T>
void solve_lower(const MatrixPart<T>& factors, const MatrixPart<T>& b);
template <class T>
void solve_upper(const MatrixPart<T>& factors, const MatrixPart<T>& b);

/// What is left of these for few columns or rows.
inline constexpr int64_t kNarrow = 16;

/// Loops over a matrix of at most kNarrow columns, or factors of as many rows.
template <class T>
struct NarrowLoops {
  void (*factor)(const MatrixPart<T>& a, int32_t* pivots);
  void (*solve_lower)(const MatrixPart<T>& factors, const MatrixPart<T>& b);
  void (*solve_upper)(const MatrixPart<T>& factors, const MatrixPart<T>& b);
};
struct LuLoops {
  NarrowLoops<float> f32;
  NarrowLoops<double> f64;
};
AORTA_ISA_TABLE(LuLoops, lu_loops)

}  // namespace aorta::cpu
