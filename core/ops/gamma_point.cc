#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/gamma_point.h>

namespace aorta::kernel {

constinit Op<GammaPointKernel, NoGradient> gamma_point_op{"gamma_point"};

Tensor gamma_point(GammaPart part, const Tensor& a, const Tensor& x) {
  const CalledOp called(gamma_point_op.name());
  const ProfilerRange range(gamma_point_op.name(), {&a, &x});
  const auto numbers = [](const Tensor& of) { return of.detach().to(DType::f64).contiguous(); };
  const Tensor out = empty(x.shape(), {.dtype = DType::f64, .device = x.device()});
  if (out.numel() > 0 && !out.is_meta())
    gamma_point_op.kernel(x.device())(part, numbers(a), numbers(x), out);
  return out.to(x.dtype());
}

}  // namespace aorta::kernel
