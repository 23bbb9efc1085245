#pragma once

#include <aorta/core/ops/loss.h>

namespace aorta::body {
struct CtcArgs;
}

namespace aorta {

/// The options of ctc_loss, with PyTorch's names and defaults.
struct CtcLossOptions {
  int64_t blank = 0;
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;  // infinite losses and their gradients become 0
};
/// Connectionist temporal classification: the negative logarithm of the probability that a
/// sequence's steps, with repetitions joined and blanks left out, read as its target. For
/// log_probs (T, N, C), log-probabilities (of log_softmax), floating; targets (N, S) or, one after
/// another, (sum of lengths), classes in [0, C); input_lengths (N) in [0, T] and target_lengths
/// (N); integers i64 or i32, lengths best on the CPU, for their values are looked at. Or,
/// unbatched, (T, C), (S), () and (). A target that has no path has an infinite loss. `none` gives
/// (N); mean divides each loss by its target's length, at least 1, before the mean. Logarithms are
/// summed in f64 for f64, else in f32. The gradient is PyTorch's: that of log_softmax(x) and this
/// by x. By log_probs themselves it is greater by exp(log_probs), which log_softmax takes away.
/// Differentiable twice. Graves et al. 2006. Errors: "ctc_loss: targets must be in [0, C), got 7, C
/// 5".
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcLossOptions& options = {});

}  // namespace aorta

namespace aorta::kernel {

/// What the op was called with besides log_probs, on their device.
struct CtcTargets {
  Tensor targets;                        // (N, S) i64
  Tensor input_lengths, target_lengths;  // (N) i64
  int64_t blank = 0;
  bool zero_infinity = false;
};
/// The kernel of the gradient with respect to log_probs; it records nothing: a pass that records
/// itself composes it. `gradient` and `losses` (N) and `alpha` are in the compute dtype.
Tensor ctc_loss_backward(const Tensor& gradient, const Tensor& log_probs, const CtcTargets& targets,
                         const Tensor& alpha, const Tensor& losses);

using CtcKernel = void (*)(const body::CtcArgs& args);
using CtcGradient = void (*)(Tensor& losses, const Tensor& log_probs, const CtcTargets& targets,
                             const Tensor& alpha);
extern Op<CtcKernel, CtcGradient> ctc_loss_op;
extern Op<CtcKernel, NoGradient> ctc_loss_backward_op;

}  // namespace aorta::kernel
