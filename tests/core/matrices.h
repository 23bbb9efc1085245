#pragma once

// Matrices for the tests of products: numbers, layouts, and the product in double.

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>

#include <cmath>

namespace aorta {

struct Sizes {
  int64_t m, n, k;
};

inline Generator& generator() {
  static Generator numbers(11);
  return numbers;
}

inline Tensor uniform(const Shape& shape, DType dtype) {
  return uniform_(empty(shape, {.dtype = f64}), -1, 1, &generator()).to(dtype);
}

// Small integers: products of up to 60 of them sum exactly in every dtype and order.
inline Tensor integers(const Shape& shape, DType dtype) {
  return randint(dtype == u8 ? 0 : -2, 3, shape, {}, &generator()).to(dtype);
}

enum class MatrixLayout { rows, columns, strided, offset, last };

// A tensor of the same values, its last two dimensions in another layout.
inline Tensor laid_out(const Tensor& x, MatrixLayout layout) {
  Shape shape = x.shape();
  const int last = shape.size() - 1;
  if (layout == MatrixLayout::rows) return x;
  if (layout == MatrixLayout::columns) return x.transpose(-1, -2).contiguous().transpose(-1, -2);
  Tensor view;
  if (layout == MatrixLayout::strided) {  // every second element of every third row
    shape[last] = 2 * shape[last] + 1;
    shape[last - 1] = 3 * shape[last - 1];
    view = zeros(shape, {.dtype = x.dtype()}).slice(-1, 1, {}, 2).slice(-2, 0, {}, 3);
  } else {  // an odd place in wider rows
    shape[last] += 3;
    view = zeros(shape, {.dtype = x.dtype()}).narrow(-1, 1, x.size(-1));
  }
  view.copy_(x);
  return view;
}

struct Reference {
  std::vector<double> sum, magnitude;  // of each element of the product
};

// (m, k) (k, n) in double, element by element.
inline Reference reference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  Reference result;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double term = x[static_cast<size_t>(i * k + p)] * y[static_cast<size_t>(p * n + j)];
        sum += term;
        magnitude += std::fabs(term);
      }
      result.sum.push_back(sum);
      result.magnitude.push_back(magnitude);
    }
  }
  return result;
}

}  // namespace aorta
