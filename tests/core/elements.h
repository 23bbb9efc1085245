#pragma once

// Tensors of every layout and their elements one by one: what a naive reference is written with.

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/tensor.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace aorta::elements {

inline const std::vector<DType> kAllDTypes = {f32, f64, f16, bf16, i64, i32, u8, boolean};

/// Calls `f` with every index of `shape`, the last dimension fastest.
inline void for_each_index(const Shape& shape, const std::function<void(const Dims&)>& f) {
  if (shape.numel() == 0) return;
  Dims at = Dims::filled(shape.size(), 0);
  for (;;) {
    f(at);
    int d = shape.size() - 1;
    while (d >= 0 && ++at[d] == shape[d]) at[d--] = 0;
    if (d < 0) return;
  }
}

inline double get(const Tensor& tensor, const Dims& at) {
  return visit_dtype(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<double>(static_cast<float>(tensor.at<T>(at)));
    } else {
      return static_cast<double>(tensor.at<T>(at));
    }
  });
}

inline void set(const Tensor& tensor, const Dims& at, double value) {
  visit_dtype(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      tensor.at<T>(at) = value != 0;
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      tensor.at<T>(at) = T(static_cast<float>(value));
    } else {
      tensor.at<T>(at) = static_cast<T>(value);
    }
  });
}

/// Random numbers in [0, bound) from a fixed seed a test.
class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  int64_t operator()(int64_t bound) {
    return bound <= 0 ? 0 : static_cast<int64_t>(engine_() % static_cast<uint32_t>(bound));
  }
  Shape shape(int ndim, int64_t largest, bool with_zero = true) {
    Shape result;
    for (int d = 0; d < ndim; ++d)
      result.push_back(with_zero && (*this)(12) == 0 ? 0 : 1 + (*this)(largest));
    return result;
  }

 private:
  std::mt19937 engine_;
};

enum class Layout { contiguous, permuted, strided, offset };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::permuted, Layout::strided,
                                      Layout::offset};

/// Uninitialised memory of `shape` in a layout.
inline Tensor blank(const Shape& shape, DType dtype, Layout layout) {
  const int n = shape.size();
  if (n == 0 || layout == Layout::contiguous) return empty(shape, {.dtype = dtype});
  if (layout == Layout::permuted) {
    Shape turned = shape;
    Dims back;
    for (int d = 0; d < n; ++d) {
      turned[d] = shape[(d + 1) % n];
      back.push_back((d + n - 1) % n);
    }
    return empty(turned, {.dtype = dtype}).permute(back);
  }
  Shape larger = shape;
  if (layout == Layout::offset) {
    larger[0] += 2;
    return empty(larger, {.dtype = dtype}).narrow(0, 1, shape[0]);
  }
  larger[n - 1] = shape[n - 1] * 2;
  return empty(larger, {.dtype = dtype}).slice(n - 1, 0, larger[n - 1], 2);
}

/// Small random integers, exact in every dtype.
inline Tensor scramble(Dice& dice, const Shape& shape, DType dtype = f32,
                       Layout layout = Layout::contiguous) {
  const Tensor tensor = blank(shape, dtype, layout);
  for_each_index(shape, [&](const Dims& at) {
    const int64_t value = dice(dtype == boolean ? 2 : 100);
    set(tensor, at, static_cast<double>(dtype == u8 || dtype == boolean ? value : value - 50));
  });
  return tensor;
}

/// Random indices below `bound`.
inline Tensor random_index(Dice& dice, const Shape& shape, int64_t bound, DType dtype = i64,
                           Layout layout = Layout::contiguous) {
  const Tensor tensor = blank(shape, dtype, layout);
  for_each_index(shape, [&](const Dims& at) { set(tensor, at, static_cast<double>(dice(bound))); });
  return tensor;
}

/// Same shape, dtype and elements.
inline void expect_equal(const Tensor& got, const Tensor& want, const std::string& what = "") {
  ASSERT_EQ(to_string(got.shape()), to_string(want.shape())) << what;
  ASSERT_EQ(to_string(got.dtype()), to_string(want.dtype())) << what;
  for_each_index(got.shape(), [&](const Dims& at) {
    const double a = get(got, at), b = get(want, at);
    EXPECT_TRUE(a == b || (a != a && b != b))
        << what << " at " << to_string(at) << ": " << a << " instead of " << b;
  });
}

/// `got` has these elements in row-major order, and this shape.
inline void expect_values(const Tensor& got, const Shape& shape,
                          const std::vector<double>& values) {
  EXPECT_EQ(to_string(got.shape()), to_string(shape));
  EXPECT_EQ(got.to_vector<double>(), values);
}

/// `f` throws aorta::Error with just this text.
inline void expect_error(const std::function<void()>& f, const std::string& text) {
  EXPECT_EQ(error_of(f), text);
}

}  // namespace aorta::elements
