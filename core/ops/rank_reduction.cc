#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rank_reduction.h>

namespace aorta::kernel {

Tensor reduced_over_ranks(std::span<const Tensor> tensors, ReduceOp op) {
  const DType dtype = tensors[0].dtype();
  const DType sums = is_half(dtype) ? DType::f32 : dtype;
  Tensor sum = tensors[0].to(sums);
  for (const Tensor& tensor : tensors.subspan(1)) {
    const Tensor other = tensor.to(sums);
    if (dtype == DType::boolean) {
      sum = op == ReduceOp::min ? logical_and(sum, other) : logical_or(sum, other);
    } else if (op == ReduceOp::min) {
      sum = minimum(sum, other);
    } else if (op == ReduceOp::max) {
      sum = maximum(sum, other);
    } else {
      sum = sum + other;
    }
  }
  if (op == ReduceOp::mean) sum = sum / static_cast<double>(tensors.size());
  return sum.to(dtype);
}

}  // namespace aorta::kernel
