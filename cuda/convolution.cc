#include <aorta/core/backends.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/cuda/convolution_cudnn.h>
#include <aorta/cuda/convolution_kernels.h>

namespace aorta::cuda {
namespace {

using kernel::ConvolutionArgs;

constexpr const char* kOps[] = {"convolution", "convolution_transpose", "convolution_weight"};

template <ConvResult result>
void compute(const ConvolutionArgs& args) {
  const char* const op = kOps[static_cast<int>(result)];
  if (backends::cudnn::enabled() && suits_cudnn(args, result) &&
      convolution_by_cudnn(op, args, result))
    return;
  convolution_by_kernels(op, args, result);
}

// The gradient of all weights: 0 for taps that read nothing but padding.
void compute_live_weights(const ConvolutionArgs& args, LiveTaps live) {
  const TensorOptions options{.dtype = args.dtype,
                              .device = Device(DeviceType::cuda, device_of(args.w))};
  const auto shape = [&](const ConvolutionArgs& of) {
    return Shape{of.y_channels, of.dims[0].kernel, of.dims[1].kernel, of.dims[2].kernel,
                 of.x_channels / of.groups};
  };
  const Tensor all = from_blob(args.w, shape(args), options),
               part = empty(shape(live.args), options);
  live.args.w = part.data();
  live.args.w_y = part.stride(0);
  for (int d = 0; d < 3; ++d) live.args.w_dims[d] = part.stride(1 + d);
  live.args.w_x = part.stride(4);
  compute<ConvResult::w>(live.args);
  Tensor target = all.zero_();
  for (int d = 0; d < 3; ++d)
    target = target.narrow(1 + d, live.first[d], live.args.dims[d].kernel);
  target.copy_(part);
}

template <ConvResult result>
void convolution_kernel(const ConvolutionArgs& args) {
  const LiveTaps live = live_taps(args);
  if (result == ConvResult::w && live.fewer) return compute_live_weights(args, live);
  compute<result>(live.args);
}

}  // namespace

void register_convolution() {
  using kernel::convolution_op, kernel::convolution_transpose_op, kernel::convolution_weight_op;
  set_kernel<convolution_op, convolution_kernel<ConvResult::y>>();
  set_kernel<convolution_transpose_op, convolution_kernel<ConvResult::x>>();
  set_kernel<convolution_weight_op, convolution_kernel<ConvResult::w>>();
}

}  // namespace aorta::cuda
