#include <aorta/core/backends.h>
#include <aorta/cuda/convolution_cudnn.h>
#include <aorta/cuda/convolution_kernels.h>

namespace aorta::cuda {
namespace {

using kernel::ConvolutionArgs;

template <ConvResult result>
void convolution_kernel(const ConvolutionArgs& args) {
  constexpr const char* kOps[] = {"convolution", "convolution_transpose", "convolution_weight"};
  const char* const op = kOps[static_cast<int>(result)];
  if (backends::cudnn::enabled() && suits_cudnn(args, result) &&
      convolution_by_cudnn(op, args, result))
    return;
  convolution_by_kernels(op, args, result);
}

}  // namespace

void register_convolution() {
  using kernel::convolution_op, kernel::convolution_transpose_op, kernel::convolution_weight_op;
  set_kernel<convolution_op, convolution_kernel<ConvResult::y>>();
  set_kernel<convolution_transpose_op, convolution_kernel<ConvResult::x>>();
  set_kernel<convolution_weight_op, convolution_kernel<ConvResult::w>>();
}

}  // namespace aorta::cuda
