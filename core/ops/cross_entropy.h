#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/ops/loss.h>

namespace aorta {

/// The options of cross_entropy, with PyTorch's names and defaults.
struct CrossEntropyOptions {
  Tensor weight = {};  // (C), of each class; takes no gradient
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;  // in [0, 1]
};
/// The cross entropy of softmax(input) over the classes and the target, for input (C), (N, C) or
/// (N, C, d1, ...) of a floating dtype. The target is
/// - a class in [0, C) each, i64 or i32, (), (N) or (N, d1, ...). With log-probabilities l_c and a
///   smoothing s the loss is -(1 - s) w_t l_t - s / C sum(w_c l_c); mean divides the sum of losses
///   by the sum of w_t. Where t is `ignore_index` loss, gradient and weight are 0.
/// - probabilities t_c of the input's shape: -sum(w_c ((1 - s) t_c + s / C) l_c); mean divides by
///   the number of losses. They may require a gradient; of two dtypes the wider one counts.
/// Computed in f32 for half types, in one pass, without a tensor of log-probabilities; so is the
/// gradient. channels_last is read as it lies.
/// Errors: "cross_entropy: target must be in [0, C) or ignore_index, got 7 at [3], C 5".
Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyOptions& options = {});

/// The options of nll_loss, with PyTorch's names and defaults.
struct NllLossOptions {
  Tensor weight = {};
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// -w_t x_t, the negative log likelihood of log-probabilities x: shapes, weights, reductions and
/// errors as in cross_entropy with classes as target.
Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& options = {});

}  // namespace aorta

namespace aorta::kernel {

/// What a gradient needs besides input and target.
struct ClassLoss {
  CrossEntropyOptions options;  // weight in the compute dtype, contiguous
  Tensor statistics;  // of each line: its largest, and the log of the sum of exp(x - largest);
                      // with probabilities as target also the sum of their weights
  Tensor total;       // () f64: what mean divides by
};

/// Lines of classes; those of the target are in the same order. The compute dtype is f64 for f64,
/// else f32.
struct ClassLossArgs {
  Lines lines;
  DType dtype;  // of input, probabilities, output and gradient
  const void* input;
  const int64_t* target;      // of each line, or
  const void* probabilities;  // laid out as the input
  const void* weight;         // in the compute dtype, or null
  int64_t ignore_index;
  Reduction reduction;
  double label_smoothing;
  void* statistics;  // (2 or 3, lines) in the compute dtype; not for nll_loss
  double* total;
  void* output;          // forward: a loss for each line, or one; backward: as the input
  const void* gradient;  // of the backward ops: for each line, or one
};
/// Returns the first line whose target is out of range, or -1.
using ClassLossKernel = int64_t (*)(const ClassLossArgs& args);
using ClassLossBackwardKernel = void (*)(const ClassLossArgs& args);
using ClassLossGradient = void (*)(Tensor& output, const Tensor& input, const Tensor& target,
                                   const ClassLoss& loss);
extern Op<ClassLossKernel, ClassLossGradient> cross_entropy_op, nll_loss_op;
extern Op<ClassLossBackwardKernel, NoGradient> cross_entropy_backward_op, nll_loss_backward_op;

/// The kernels of the gradients with respect to the input. They record no gradients: a pass that
/// records itself composes them.
Tensor cross_entropy_backward(const Tensor& gradient, const Tensor& input, const Tensor& target,
                              const ClassLoss& loss);
Tensor nll_loss_backward(const Tensor& gradient, const Tensor& input, const Tensor& target,
                         const ClassLoss& loss);

}  // namespace aorta::kernel
