#include <aorta/core/ops/gamma_point.h>
#include <aorta/core/parallel_for.h>

namespace aorta::cpu {
namespace {

void gamma_point_kernel(GammaPart part, const Tensor& a, const Tensor& x, const Tensor& out) {
  constexpr int64_t kGrain = 64;  // each is a series
  const body::GammaPartBody body{part, a.data<double>(), x.data<double>(), out.data<double>()};
  parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace

void register_gamma_point() { gamma_point_op.set_kernel(DeviceType::cpu, gamma_point_kernel); }

}  // namespace aorta::cpu
