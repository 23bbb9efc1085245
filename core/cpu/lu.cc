#include <aorta/core/cpu/gemm.h>
#include <aorta/core/cpu/lu.h>

#include <algorithm>
#include <type_traits>

// Halves of halves: of n^3 / 3 multiply-adds all but those within kNarrow columns are products of
// large matrices, which are fast.
namespace aorta::cpu {
namespace {

int64_t half_of(int64_t size) { return (size / 2 + kNarrow - 1) / kNarrow * kNarrow; }

template <class T>
void subtract_product(const MatrixPart<T>& c, const MatrixPart<T>& a, const MatrixPart<T>& b) {
  if (c.rows == 0 || c.columns == 0) return;
  gemm({.dtype = dtype_of<T>,
        .m = c.rows,
        .n = c.columns,
        .k = a.columns,
        .a = a.data,
        .a_row = a.stride,
        .a_column = 1,
        .b = b.data,
        .b_row = b.stride,
        .b_column = 1,
        .c = c.data,
        .ldc = c.stride,
        .alpha = -1,
        .accumulate = true});
}

template <class T>
const NarrowLoops<T>& narrow() {
  if constexpr (std::is_same_v<T, float>)
    return lu_loops().f32;
  else
    return lu_loops().f64;
}

}  // namespace

template <class T>
void exchange_rows(const MatrixPart<T>& b, const int32_t* pivots, int64_t count) {
  for (int64_t j = 0; j < count; ++j)
    if (pivots[j] - 1 != j) std::swap_ranges(b.row(j), b.row(j) + b.columns, b.row(pivots[j] - 1));
}

template <class T>
void solve_lower(const MatrixPart<T>& factors, const MatrixPart<T>& b) {
  const int64_t n = b.rows, columns = b.columns;
  if (n <= kNarrow) return narrow<T>().solve_lower(factors, b);
  const int64_t first = half_of(n), rest = n - first;
  const MatrixPart<T> top = b.part(0, 0, first, columns), below = b.part(first, 0, rest, columns);
  solve_lower(factors, top);
  subtract_product(below, factors.part(first, 0, rest, first), top);
  solve_lower(factors.part(first, first, rest, rest), below);
}

template <class T>
void solve_upper(const MatrixPart<T>& factors, const MatrixPart<T>& b) {
  const int64_t n = b.rows, columns = b.columns;
  if (n <= kNarrow) return narrow<T>().solve_upper(factors, b);
  const int64_t first = half_of(n), rest = n - first;
  const MatrixPart<T> top = b.part(0, 0, first, columns), below = b.part(first, 0, rest, columns);
  solve_upper(factors.part(first, first, rest, rest), below);
  subtract_product(top, factors.part(0, first, first, rest), below);
  solve_upper(factors, top);
}

template <class T>
void lu_factor(const MatrixPart<T>& a, int32_t* pivots) {
  const int64_t m = a.rows, n = a.columns;
  if (m == 0 || n == 0) return;
  const bool is_wide = n > m;
  if (!is_wide && n <= kNarrow) return narrow<T>().factor(a, pivots);
  // The left columns, then what they make of the right ones, and those.
  const int64_t left = is_wide ? m : half_of(n), right = n - left;
  lu_factor(a.part(0, 0, m, left), pivots);
  const MatrixPart<T> corner = a.part(0, left, left, right);
  exchange_rows(a.part(0, left, m, right), pivots, left);
  solve_lower(a, corner);
  if (is_wide) return;
  const MatrixPart<T> rest = a.part(left, left, m - left, right);
  subtract_product(rest, a.part(left, 0, m - left, left), corner);
  int32_t* const pivots_of_rest = pivots + left;
  lu_factor(rest, pivots_of_rest);
  exchange_rows(a.part(left, 0, m - left, left), pivots_of_rest, right);
  for (int64_t j = 0; j < right; ++j) pivots_of_rest[j] += static_cast<int32_t>(left);
}

template void lu_factor(const MatrixPart<float>&, int32_t*);
template void lu_factor(const MatrixPart<double>&, int32_t*);
template void exchange_rows(const MatrixPart<float>&, const int32_t*, int64_t);
template void exchange_rows(const MatrixPart<double>&, const int32_t*, int64_t);
template void solve_lower(const MatrixPart<float>&, const MatrixPart<float>&);
template void solve_lower(const MatrixPart<double>&, const MatrixPart<double>&);
template void solve_upper(const MatrixPart<float>&, const MatrixPart<float>&);
template void solve_upper(const MatrixPart<double>&, const MatrixPart<double>&);

}  // namespace aorta::cpu
