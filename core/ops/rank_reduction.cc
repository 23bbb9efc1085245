#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rank_reduction.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <vector>

namespace aorta::kernel {
namespace {

constexpr int64_t kBlock = 32 << 10;  // elements a thread

Tensor reduction(std::span<const Tensor> tensors, ReduceOp op) {
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

}  // namespace

void reduce_over_ranks(const Tensor& output, std::span<const Tensor> tensors, ReduceOp op) {
  // What the steps give each other stays in the cache of a core.
  const int64_t most = output.device().is_cpu() ? kBlock * get_num_threads() : output.numel();
  for (int64_t at = 0; at < output.numel(); at += most) {
    const int64_t length = std::min(most, output.numel() - at);
    std::vector<Tensor> blocks;
    for (const Tensor& tensor : tensors) blocks.push_back(tensor.narrow(0, at, length));
    output.narrow(0, at, length).copy_(reduction(blocks, op));
  }
}

void all_reduce_together(const List<Tensor>& tensors, Communicator& group, ReduceOp op) {
  if (tensors[0].device().is_cpu()) return group.all_reduce_coalesced(tensors, op);
  List<Tensor> wholes, flats;
  for (const Tensor& tensor : tensors) {
    wholes.push_back(dense(tensor));
    flats.push_back(flat_memory(wholes.back()));
  }
  const Tensor all = cat(flats);
  const CollectiveSubject subject(layouts_text(wholes));
  group.all_reduce(all, op);
  int64_t place = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    flats[i].copy_(all.narrow(0, place, flats[i].numel()));
    if (!wholes[i].shares_storage(tensors[i])) tensors[i].detach().copy_(wholes[i]);
    place += flats[i].numel();
  }
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
