#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rank_reduction.h>

#include <algorithm>
#include <vector>

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

void broadcast_together(std::span<const Tensor> tensors, Communicator& group, int root) {
  std::vector<std::vector<Tensor>> pieces;  // in the order of the tensors, as on the other ranks
  for (const Tensor& tensor : tensors) {
    const auto piece = std::find_if(pieces.begin(), pieces.end(), [&](const auto& other) {
      return other[0].dtype() == tensor.dtype() && other[0].device() == tensor.device();
    });
    (piece == pieces.end() ? pieces.emplace_back() : *piece).push_back(tensor.detach());
  }
  for (const std::vector<Tensor>& piece : pieces) {
    std::vector<Tensor> flat;
    for (const Tensor& tensor : piece) flat.push_back(tensor.reshape({-1}));
    const Tensor all = cat(flat);
    group.broadcast(all, root);
    if (group.rank() == root) continue;
    int64_t place = 0;
    for (const Tensor& tensor : piece) {
      tensor.copy_(all.narrow(0, place, tensor.numel()).view(tensor.shape()));
      place += tensor.numel();
    }
  }
}

}  // namespace aorta::kernel
