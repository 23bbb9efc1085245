#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/total_norm.h>

namespace aorta::kernel {

constinit Op<TotalNormKernel, NoGradient> total_norm_op{"total_norm"};

Tensor total_norm(std::span<const Tensor> tensors, double p) {
  const CalledOp called(total_norm_op.name());
  const ProfilerRange range(total_norm_op.name());
  std::vector<NormTensor> list;
  int64_t first = 0;
  for (const Tensor& tensor : tensors) {
    list.push_back({tensor.data(), tensor.numel(), first});
    first += tensor.numel();
  }
  const Device device = tensors[0].device();
  const Tensor result = empty({}, {.dtype = DType::f64, .device = device});
  total_norm_op.kernel(device)({p, tensors[0].dtype(), list, result.data<double>()});
  return result;
}

}  // namespace aorta::kernel
