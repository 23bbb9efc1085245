#include <aorta/core/ops/gamma_point.h>
#include <aorta/cuda/rows.h>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

void gamma_point_kernel(GammaPart part, const Tensor& a, const Tensor& x, const Tensor& out) {
  for_each("gamma_point", out.data(), out.numel(),
           body::GammaPartBody{part, a.data<double>(), x.data<double>(), out.data<double>()});
}

}  // namespace

void register_gamma_point() { set_kernel<gamma_point_op, gamma_point_kernel>(); }

}  // namespace aorta::cuda
