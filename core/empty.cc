#include <aorta/core/empty.h>

namespace aorta {

Tensor detail::with_requires_grad(Tensor result, bool requires_grad) {
  if (requires_grad) result.requires_grad_();
  return result;
}

Tensor empty_strided(const Shape& shape, const Strides& strides, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(DType::f32);
  const int64_t item = item_size(dtype);
  const int64_t bytes = item * checked_extent("empty_strided", shape, strides, item);
  return detail::with_requires_grad(
      Tensor(Storage::allocate(bytes, options.device), dtype, shape, strides),
      options.requires_grad);
}

Tensor empty(const Shape& shape, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(DType::f32);
  const int64_t item = item_size(dtype);
  const int64_t bytes = item * checked_numel("empty", shape, item);
  return detail::with_requires_grad(
      Tensor(Storage::allocate(bytes, options.device), dtype, shape, contiguous_strides(shape)),
      options.requires_grad);
}

}  // namespace aorta
