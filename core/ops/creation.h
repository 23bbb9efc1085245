#pragma once

#include <aorta/core/empty.h>

namespace aorta {

/// Filled with 0 or 1, f32 without a dtype.
Tensor zeros(const Shape& shape, const TensorOptions& options = {});
Tensor ones(const Shape& shape, const TensorOptions& options = {});
/// Filled with a number; without a dtype, the number's: f32, i64 or bool.
Tensor full(const Shape& shape, const Scalar& value, const TensorOptions& options = {});

/// start, start + step, ... before end: ceil((end - start) / step) numbers. i64 when all three are
/// integers, else f32.
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& end, const TensorOptions& options = {});
/// `steps` numbers from start to end, both included.
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                const TensorOptions& options = {});
/// base^x for the `steps` numbers x from start to end.
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10,
                const TensorOptions& options = {});
/// The places of the elements that tril (triu) keeps of a matrix (row, col): their rows and their
/// columns, (2, n), in row-major order. i64, or i32 where the options say so.
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0,
                    const TensorOptions& options = {});
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0,
                    const TensorOptions& options = {});
/// The identity matrix (n, n) or (n, m).
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

/// What of a tensor that is made like another one isn't taken from that one.
struct LikeOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
  MemoryFormat memory_format = MemoryFormat::preserve;
};
/// A tensor with the shape, strides, dtype and device of `like`, where the options don't say
/// otherwise: uninitialised, or of zeros, ones or a value.
Tensor empty_like(const Tensor& like, const LikeOptions& options = {});
Tensor zeros_like(const Tensor& like, const LikeOptions& options = {});
Tensor ones_like(const Tensor& like, const LikeOptions& options = {});
Tensor full_like(const Tensor& like, const Scalar& value, const LikeOptions& options = {});

/// Nested numbers in braces: `tensor({{1, 2}, {3, 4}})`. Without a dtype: f32 for floating numbers
/// (as PyTorch's default), i64 for integers, bool for bools.
class TensorData {
 public:
  template <std::convertible_to<Scalar> T>
  TensorData(const T& number) : number_(number) {}  // NOLINT: implicit
  TensorData(std::initializer_list<TensorData> items) : items_(items), is_list_(true) {}
  // To g++ 12 `{.a = 1}` is a call of a constructor, here of one that a list in braces may not
  // call.
  explicit TensorData(bool number) : number_(number) {}
  explicit TensorData(int number) : number_(number) {}
  explicit TensorData(int64_t number) : number_(number) {}
  explicit TensorData(float number) : number_(number) {}
  explicit TensorData(double number) : number_(number) {}
  explicit TensorData(const Scalar& number) : number_(number) {}

 private:
  friend Tensor tensor(const TensorData& data, const TensorOptions& options);
  Scalar number_ = 0;
  std::vector<TensorData> items_;
  bool is_list_ = false;
};
/// A tensor of these numbers. Errors: lists of different lengths beside each other.
Tensor tensor(const TensorData& data, const TensorOptions& options = {});

namespace detail {
Tensor from_values(const void* values, int64_t count, DType dtype, const Shape& shape,
                   const TensorOptions& options);
}  // namespace detail

/// A copy of `values` in a shape (1-d when left out); without a dtype, that of T (f32 for double
/// stays f64: the values say what they are).
template <class T, class Allocator>
Tensor tensor(const std::vector<T, Allocator>& values, const Shape& shape,
              const TensorOptions& options = {}) {
  return detail::from_values(values.data(), static_cast<int64_t>(values.size()), dtype_of<T>, shape,
                             options);
}
template <class T, class Allocator>
Tensor tensor(const std::vector<T, Allocator>& values, const TensorOptions& options = {}) {
  return tensor(values, Shape{static_cast<int64_t>(values.size())}, options);
}

}  // namespace aorta
