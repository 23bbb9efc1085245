#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/reduce_dims.h>
#include <aorta/core/scalar/channel_numbers.h>

#include <optional>

namespace aorta {

// Normalisation: y = (x - mean) / sqrt(var + eps) * weight + bias, where mean and var (the biased
// one, sum of (x - mean)^2 / n) are taken over what each function says. Floating dtypes; half types
// are computed in f32 and rounded once, and their weight, bias and running statistics may be f32.
// Otherwise these have the input's dtype; undefined tensors leave them out. Statistics are summed
// in f64, in a tree that depends on the shape alone. The output is contiguous, or channels_last
// where the input is. Errors: another dtype, shape or device, too few values.

/// The options of batch_norm, with PyTorch's names and defaults; the last four are Aorta's own.
struct BatchNormFuncOptions {
  bool training = false;
  double momentum = 0.1;
  double eps = 1e-5;
  int64_t statistic_groups = 1;
  bool relu = false;
  Tensor residual = {};
  Tensor num_batches_tracked = {};
};
/// (N, C, *): over the batch and all positions, for each channel; weight, bias, running_mean and
/// running_var (C). Ioffe, Szegedy 2015.
/// In `training` the statistics are the input's, and
///   running_mean = (1 - momentum) running_mean + momentum mean
/// likewise running_var with the unbiased variance, sum of (x - mean)^2 / (n - 1). Otherwise they
/// are the running ones. `statistic_groups` = G (in training): N / G samples after one another
/// share statistics, and the running ones are updated group after group, as by G calls. Errors: one
/// value a channel in training, G not a divisor of N, no running statistics elsewhere.
/// `num_batches_tracked`, an i64 of no dimensions, grows by G where running statistics move.
/// `relu`: max(y, 0) in the same pass, or with a `residual`, of the input's shape and dtype,
/// max(y + residual, 0). On the CPU the graph keeps the input (and the residual) alone: a gradient
/// that needs the output (a convolution's, say) computes it anew. On a GPU outputs are kept.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight = {}, const Tensor& bias = {},
                  const BatchNormFuncOptions& options = {});

/// The options of instance_norm, with PyTorch's names and defaults.
struct InstanceNormFuncOptions {
  bool use_input_stats = true;
  double momentum = 0.1;
  double eps = 1e-5;
};
/// (N, C, *), at least one *: over the positions, for each sample and channel; otherwise as
/// batch_norm. The running statistics move towards the averages over the samples; without
/// `use_input_stats` they are what normalises. Ulyanov et al. 2016.
Tensor instance_norm(const Tensor& input, const Tensor& running_mean = {},
                     const Tensor& running_var = {}, const Tensor& weight = {},
                     const Tensor& bias = {}, const InstanceNormFuncOptions& options = {});

/// (N, C, *): over the positions of C / num_groups neighbouring channels, for each sample; weight
/// and bias (C). Wu, He 2018.
Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

/// (*, normalized_shape): over the last dimensions; weight and bias have normalized_shape. Ba et
/// al. 2016.
Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

/// x / sqrt(mean of x^2 + eps) * weight over the last dimensions; eps left out is the distance from
/// 1 to the next number that is computed in (f32, f64). Zhang, Sennrich 2019.
Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

/// x / max(|x|_p, eps), the norm along `dims`. Composed; half types are computed in f32.
Tensor normalize(const Tensor& input, double p = 2, const ReduceDims& dims = 1, double eps = 1e-12);
/// Each slice along `dim` whose norm |slice|_p is above `maxnorm`, times maxnorm / (norm + 1e-7).
/// Composed; half types are computed in f32. Errors: p <= 0; maxnorm < 0; less than 2 dimensions.
Tensor renorm(const Tensor& input, double p, int64_t dim, double maxnorm);
Tensor renorm_(const Tensor& input, double p, int64_t dim, double maxnorm);

}  // namespace aorta

namespace aorta::kernel {

/// Which elements of (N, C, *) share statistics: those of N / groups samples and `width` channels
/// side by side. `given`: mean and var are the caller's, constants. `relu`: max(y, 0) is the
/// output.
struct ChannelNormPlan {
  int64_t groups = 1, width = 1;
  double eps = 1e-5;
  bool given = false;
  bool relu = false;
};
/// Lines of `length` elements, each with statistics of its own; not centered: x^2 stands for
/// (x - mean)^2.
struct LineNormPlan {
  int64_t length = 1;
  double eps = 1e-5;
  bool centered = true;
};
/// Gradients of a normalisation, undefined where not wanted; those of weight and bias have one
/// dimension, and of lines they are f64, of channels what the input is computed in.
struct NormGradients {
  Tensor input, weight, bias;
};
struct NormWanted {
  bool input = false, weight = false, bias = false;
};
/// What a normalisation was given and the statistics that it found: (groups, C / width) f64 of
/// channels, (lines) f64 of lines. weight, bias and residual may be undefined. `maps` (3, groups,
/// C) is how a channel's elements are mapped, in what they are computed in: a mean, a scale and a
/// shift (scalar::NormMap). Undefined it is found anew, of weight, bias, mean and var.
struct NormForward {
  Tensor input = {}, weight = {}, bias = {}, residual = {}, mean = {}, var = {}, maps = {};
};
/// From the gradient of the output, in one pass over the graph's tensors that records nothing.
/// `input` may be undefined where `plan.given`, without relu, and the weight's gradient isn't
/// wanted; nothing reads the residual.
NormGradients channel_norm_backward(const Tensor& gradient, const NormForward& forward,
                                    const ChannelNormPlan& plan, NormWanted wanted);
/// The output of batch_norm, bit for bit, from the mean and var that it found.
Tensor batch_norm_recomputed(const NormForward& forward, const ChannelNormPlan& plan);
/// The gradient of y + residual from that of max(y + residual, 0).
Tensor batch_norm_masked_gradient(const Tensor& gradient, const NormForward& forward,
                                  const ChannelNormPlan& plan);
/// Computes the gradients of a normalisation of lines.
NormGradients line_norm_backward(const Tensor& gradient, const NormForward& forward,
                                 const LineNormPlan& plan, NormWanted wanted);

/// What the kernels get. Memory is (batch, channels, positions), or (batch, positions, channels)
/// with `channels_last`; no size is 0. Pointers are null for what is absent or not wanted.
struct ChannelNormArgs {
  int64_t batch = 1, channels = 1, positions = 1;
  bool channels_last = false;
  ChannelNormPlan plan;
  DType dtype = DType::f32;  // of input, gradient and output
  const void* input = nullptr;
  const void* residual =
      nullptr;  // forward: max(y + residual, 0); `gradient`: that where it isn't 0
  const void* gradient = nullptr;  // backward and with a residual alone: of the output
  void* output = nullptr;          // backward: the input's gradient
  // (groups, channels / width): read where they are given and not the running ones, and backward;
  // else written.
  double* mean = nullptr;
  double* var = nullptr;
  scalar::ChannelNumbers maps;  // (3, groups, channels): NormForward's, written unless `maps_known`
  bool maps_known = false;
  scalar::ChannelNumbers weight, bias;                    // (channels)
  scalar::ChannelNumbers weight_gradient, bias_gradient;  // (channels)
  scalar::RunningStatistics running;  // moved, or if `plan.given` what the statistics are
};
struct LineNormArgs {
  int64_t lines = 1;
  LineNormPlan plan;
  DType dtype = DType::f32;
  const void* input = nullptr;
  const void* gradient = nullptr;
  void* output = nullptr;
  double* mean = nullptr;  // (lines): written, unless backward
  double* var = nullptr;
  const void* weight = nullptr;  // (length) f32, or f64 for f64
  const void* bias = nullptr;
  double* weight_gradient = nullptr;  // (length)
  double* bias_gradient = nullptr;
};

using ChannelNormKernel = void (*)(const ChannelNormArgs& args);
using ChannelNormGradient = void (*)(Tensor& output, const NormForward& forward,
                                     const ChannelNormPlan& plan);
extern Op<ChannelNormKernel, ChannelNormGradient> batch_norm_op, instance_norm_op, group_norm_op;
using LineNormKernel = void (*)(const LineNormArgs& args);
using LineNormGradient = void (*)(Tensor& output, const Tensor& input, const Tensor& weight,
                                  const Tensor& bias, const Tensor& mean, const Tensor& var,
                                  const LineNormPlan& plan);
extern Op<LineNormKernel, LineNormGradient> layer_norm_op, rms_norm_op;
/// Backward passes record through the ops that they are composed of, so these have no gradient.
extern Op<ChannelNormKernel, NoGradient> channel_norm_backward_op;
extern Op<LineNormKernel, NoGradient> line_norm_backward_op;

}  // namespace aorta::kernel
