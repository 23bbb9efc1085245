#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

/// While it lives, ops of this thread that gain from a half type compute in it, and ops that need
/// the range or precision of f32 compute in that, whatever floating dtype their inputs have (f64 is
/// left alone); all others take their inputs as they come. Casts are recorded, so that gradients
/// come back in the dtype of the leaves; a leaf that requires a gradient is cast once a scope.
/// Backward passes are run outside. Scopes nest; `Autocast(DType::f32)` switches it off inside.
///
///   half  matmul mm bmm mv dot addmm baddbmm linear tensordot einsum,
///         conv1d conv2d conv3d and their transposed forms, lstm_cell gru_cell,
///         scaled_dot_product_attention
///   f32   acos asin cosh exp expm1 log log10 log1p log2 pow reciprocal rsqrt sinh softplus tan,
///         cumprod cumsum log_softmax logsumexp norm prod softmax sum, cosine_similarity, losses,
///         group_norm layer_norm rms_norm
///
/// In-place forms are never cast. The lists are PyTorch's, but for dot and tensordot, whose
/// operands PyTorch only brings to one dtype.
class Autocast {
 public:
  /// bf16 or f16, or f32 for none.
  [[nodiscard]] explicit Autocast(DType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  DType outer_;
};

/// The half type of the innermost scope; f32 outside.
DType autocast_dtype();
/// `tensor` as an op on the half list takes it: f32 and half types become the scope's dtype.
Tensor autocast_to_half(const Tensor& tensor);
/// `tensor` as an op on the f32 list takes it: half types become f32 inside a scope.
Tensor autocast_to_f32(const Tensor& tensor);
/// True when autocast_to_half changes one of the tensors.
bool autocast_changes(std::initializer_list<const Tensor*> tensors);

namespace detail {
/// Forgets the casts of leaves that this thread's scopes keep, so that they are made anew.
void forget_autocast_casts();
}  // namespace detail

}  // namespace aorta
