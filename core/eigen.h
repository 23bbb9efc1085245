#pragma once

#include <aorta/core/tensor.h>

#include <Eigen/Core>
#include <utility>

// Tensors as Eigen matrices and back, without a copy. Not part of aorta.h: who includes this
// includes Eigen. CPU tensors of f32 f64 i64 i32 u8 bool.

namespace aorta {

/// A matrix or vector in someone else's memory, with any strides.
template <class T>
using EigenMatrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                               Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
template <class T>
using EigenVector = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>, Eigen::Unaligned,
                               Eigen::InnerStride<Eigen::Dynamic>>;

/// The elements of a tensor (rows, columns), which must outlive the map. Writes through it don't
/// show in the tensor's version: call `bump_version()`. Errors: another dtype, device or number of
/// dimensions.
template <class T>
EigenMatrix<T> eigen_matrix(const Tensor& tensor) {
  check_defined("eigen_matrix", {{"tensor", tensor}});
  check(tensor.dim() == 2, "eigen_matrix", "the tensor must have 2 dimensions", tensor.shape());
  check(tensor.device().is_cpu(), "eigen_matrix", "the tensor must be on the CPU", tensor.device());
  return {tensor.data<T>(), tensor.shape()[0], tensor.shape()[1],
          Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(tensor.strides()[0], tensor.strides()[1])};
}

/// Shows a tensor (n) as a vector of Eigen's.
template <class T>
EigenVector<T> eigen_vector(const Tensor& tensor) {
  check_defined("eigen_vector", {{"tensor", tensor}});
  check(tensor.dim() == 1, "eigen_vector", "the tensor must have 1 dimension", tensor.shape());
  check(tensor.device().is_cpu(), "eigen_vector", "the tensor must be on the CPU", tensor.device());
  return {tensor.data<T>(), tensor.shape()[0],
          Eigen::InnerStride<Eigen::Dynamic>(tensor.strides()[0])};
}

namespace detail {
template <class Derived>
Tensor borrow_eigen(Derived& matrix, Storage::Deleter deleter, void* context) {
  const Eigen::Index inner = matrix.innerStride(), outer = matrix.outerStride();
  const TensorOptions options{.dtype = dtype_of<typename Derived::Scalar>};
  if constexpr (Derived::IsVectorAtCompileTime) {
    return from_blob(matrix.data(), Shape{matrix.size()}, Strides{inner}, options, deleter,
                     context);
  } else {
    constexpr bool row_major = Derived::IsRowMajor;
    return from_blob(matrix.data(), Shape{matrix.rows(), matrix.cols()},
                     row_major ? Strides{outer, inner} : Strides{inner, outer}, options, deleter,
                     context);
  }
}
}  // namespace detail

/// The memory of an Eigen matrix, map or block as a tensor (rows, columns), or (n) for a vector
/// type. `matrix` must outlive it and keep its size.
template <class Derived>
Tensor from_eigen(Eigen::DenseBase<Derived>& matrix) {
  static_assert(static_cast<bool>(int{Derived::Flags} & int{Eigen::DirectAccessBit}) &&
                    static_cast<bool>(int{Derived::Flags} & int{Eigen::LvalueBit}),
                "from_eigen: an expression has no memory; assign it to a matrix first");
  return detail::borrow_eigen(matrix.derived(), nullptr, nullptr);
}

/// Makes a tensor of a matrix that is given away: the tensor owns it, and nothing is copied.
template <class Derived>
Tensor from_eigen(Eigen::PlainObjectBase<Derived>&& matrix) {
  Derived* const owned = new Derived(std::move(matrix.derived()));
  return detail::borrow_eigen(
      *owned, [](void* context) { delete static_cast<Derived*>(context); }, owned);
}

}  // namespace aorta
