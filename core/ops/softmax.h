#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/op_table.h>

namespace aorta {

/// exp(x_i) / sum over j of exp(x_j) along `dim`, without overflow; a line whose largest is -inf,
/// inf or NaN gives NaN. Floating dtypes, or `dtype`, to which elements are converted first.
Tensor softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});
/// x_i - log(sum over j of exp(x_j)) along `dim`; otherwise as softmax.
Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});

/// The softmax of -x.
Tensor softmin(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});

}  // namespace aorta

namespace aorta::kernel {

struct SoftmaxArgs {
  const void* input;  // dense, the same order in memory as the output
  void* output;
  DType dtype;  // of both, floating; half types are computed in f32
  Lines lines;
};
using SoftmaxKernel = void (*)(const SoftmaxArgs& args);
using SoftmaxGradient = void (*)(Tensor& output, const Tensor& input, int dim);
extern Op<SoftmaxKernel, SoftmaxGradient> softmax_op, log_softmax_op;

struct SoftmaxBackwardArgs {
  const void* gradient;  // of the result; all three are dense, in one order in memory
  const void* output;    // the result
  void* input;           // its gradient
  DType dtype;           // of all, floating; half types are computed in f32
  Lines lines;
};
using SoftmaxBackwardKernel = void (*)(const SoftmaxBackwardArgs& args);
extern Op<SoftmaxBackwardKernel, NoGradient> softmax_backward_op, log_softmax_backward_op;

/// The kernels of the gradients, from the results. They record no gradients: a pass that records
/// itself composes them.
Tensor softmax_backward(const Tensor& gradient, const Tensor& output, int dim);
Tensor log_softmax_backward(const Tensor& gradient, const Tensor& output, int dim);

}  // namespace aorta::kernel
