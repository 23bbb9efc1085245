#pragma once

#include <aorta/core/tensor.h>

#include <array>

namespace aorta {

// Counts, covariances and differences. Composed of other ops.

/// What histc takes by name: `histc(x, {.bins = 10, .max = 1})`.
struct HistcOptions {
  int64_t bins = 100;
  Scalar min = 0;
  Scalar max = 0;
};
/// How many elements lie in each of `bins` equal parts of [min, max], in the input's dtype: (bins).
/// The last part has its upper end too; what lies outside and NaN aren't counted. With min = max
/// the range is that of the elements, and one more on each side where they are all equal. Floating
/// dtypes, half types computed in f32. No gradient. Errors: bins < 1; min > max; a range that isn't
/// finite.
Tensor histc(const Tensor& input, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);
Tensor histc(const Tensor& input, const HistcOptions& options);
/// What histogram gives.
struct Histogram {
  Tensor hist;       // (bins)
  Tensor bin_edges;  // (bins + 1)
};
/// What histogram is asked by name.
struct HistogramOptions {
  std::optional<std::array<double, 2>> range = {};  // without, that of the elements
  Tensor weight = {};                               // what each element counts, as the input
  bool density = false;                             // the area is 1
};
/// The sums of the elements' weights, 1 without, in the parts that `bins` + 1 edges bound, which
/// are equally far apart or given, ascending. A part has its lower edge, the last one its upper
/// too; what lies outside and NaN aren't counted. Where all elements are equal the range is 1 wide,
/// and [0, 1] without any. Floating dtypes, half types computed in f32. No gradient. Errors: fewer
/// than 1 part; a range that falls or isn't finite.
Histogram histogram(const Tensor& input, int64_t bins = 100, const HistogramOptions& options = {});
Histogram histogram(const Tensor& input, const Tensor& bins, const HistogramOptions& options = {});
/// How often each of 0, 1, ... occurs in the integers `input` (N), up to the largest and to at
/// least `minlength` numbers, as i64. With weights (N) their sums, in f32 for f32 and else in f64.
/// No gradient. Errors: negative integers; another number of dimensions.
Tensor bincount(const Tensor& input, const Tensor& weights = {}, int64_t minlength = 0);

/// The covariances of the variables in the rows of `input` (V, N), or of one (N) or ():
/// sum over n of w_n (x_in - m_i) (x_jn - m_j) / d, m the means weighted by w. Each observation
/// counts `fweights` (N, integers) times and has the weight `aweights` (N, floating): w is their
/// product, 1 without. d is sum(w) - correction sum(w aweights) / sum(w), and inf comes of a d that
/// is not above 0. Integers become f32 first; half types are computed in f32 and rounded once. The
/// dtype is that of the input and `aweights`, promoted. Errors: weights of another size or below 0.
Tensor cov(const Tensor& input, int64_t correction = 1, const Tensor& fweights = {},
           const Tensor& aweights = {});
/// The correlations of the variables in the rows: cov_ij / sqrt(cov_ii cov_jj), within [-1, 1].
Tensor corrcoef(const Tensor& input);

/// The differences x_i+1 - x_i along `dim`, taken n times, of the input with `prepend` before and
/// `append` behind it; of bool, whether neighbours differ. Errors: n < 0; a 0-d input.
Tensor diff(const Tensor& input, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
            const Tensor& append = {});

/// The integral of y along `dim` by the trapezoidal rule: the sum of (y_i + y_i+1) / 2 times the
/// distance of two samples, which is `dx`, or x_i+1 - x_i of `x` (n) or of x that broadcasts to y
/// and has y's size along `dim`. Integers give f32; half types are computed in f32. Errors: bool;
/// no dimension.
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
/// The integrals up to each sample but the first: n - 1 sums.
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);

}  // namespace aorta
