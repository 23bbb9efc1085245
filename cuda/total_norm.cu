// The norm of many tensors: blocks of threads take equal shares of all elements, as if they lay in
// one piece, and one more block joins what they know. The shares depend on the sizes alone, so that
// a result is the same bits on every GPU.
#include <aorta/core/integers.h>
#include <aorta/core/ops/total_norm.h>
#include <aorta/core/scalar/reduce_list.h>
#include <aorta/cuda/rows.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>
#include <aorta/cuda/tensor_list.cuh>

#include <vector>

namespace aorta::cuda {
namespace {

/// Elements that are worth a thread, and blocks of a launch at most.
constexpr int64_t kElements = 8, kBlocks = 1024;

struct Batch {
  TensorList<const void*> tensors;
  unsigned blocks() const {
    return static_cast<unsigned>(
        std::min(divide_up(tensors.elements(), kThreads * kElements), kBlocks));
  }
};

template <class R>
using NormState = typename R::template State<double>;

/// The states of a block's threads, joined.
template <class R>
__device__ __forceinline__ NormState<R> join_block(const R& r, NormState<R> state) {
  AORTA_SHARED(NormState<R>, shared, [kThreads / 32]);
  return join_group(state, shared, [&](NormState<R> a, const NormState<R>& b) {
    r.template combine<double>(a, b);
    return a;
  });
}

template <class R, class M>
__global__ void __launch_bounds__(kThreads)
    norm_parts_kernel(const __grid_constant__ Batch batch, R r, NormState<R>* parts) {
  NormState<R> state = r.template init<double>();
  const int64_t end = batch.tensors.end();
  int64_t i = batch.tensors.begin() + first_item();
  for (int tensor = batch.tensors.find(i); i < end; i += item_step()) {
    tensor = batch.tensors.find_from(tensor, i);
    const M* const data = static_cast<const M*>(batch.tensors.places[tensor]);
    const auto x = load<ComputeType<M>, M>(data + (i - batch.tensors.firsts[tensor]));
    r.template accumulate<double>(state, static_cast<double>(x), 0);
  }
  state = join_block(r, state);
  if (threadIdx.x == 0) parts[blockIdx.x] = state;
}

template <class R>
__global__ void __launch_bounds__(kThreads)
    join_norms_kernel(R r, const NormState<R>* parts, int64_t count, double* result) {
  NormState<R> state = r.template init<double>();
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
    r.template combine<double>(state, parts[i]);
  state = join_block(r, state);
  if (threadIdx.x == 0) *result = r.template finish<double>(state, 0);
}

std::vector<Batch> batches_of(const TotalNormArgs& args) {
  std::vector<Batch> batches;
  for (const NormTensor& tensor : args.tensors) {
    if (batches.empty() || batches.back().tensors.is_full()) batches.emplace_back();
    batches.back().tensors.add(tensor.data, tensor.first, tensor.count);
  }
  return batches;
}

void run(const TotalNormArgs& args) {
  static_assert(sizeof(Batch) + 32 <= kArgumentBytes);
  const LaunchSite site(args.result);
  const std::vector<Batch> batches = batches_of(args);
  int64_t count = 0;
  for (const Batch& batch : batches) count += batch.blocks();
  scalar::with_norm(args.p, [&]<class R>(const R& r) {
    const Workspace parts(count * int64_t{sizeof(NormState<R>)}, site.device());
    auto* at = parts.template as<NormState<R>>();
    for (const Batch& batch : batches) {
      visit_floating(args.dtype, [&](auto type) {
        launch("total_norm", norm_parts_kernel<R, decltype(type)>, batch.blocks(), kThreads,
               site.stream(), batch, r, at);
      });
      at += batch.blocks();
    }
    launch("total_norm", join_norms_kernel<R>, 1, kThreads, site.stream(), r,
           parts.template as<NormState<R>>(), count, args.result);
  });
}

}  // namespace

void register_total_norm() { set_kernel<total_norm_op, run>(); }

}  // namespace aorta::cuda
