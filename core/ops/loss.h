#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/op_table.h>

#include <array>

namespace aorta {

// Losses of an input and a target of the same shape. Floating dtypes, promoted to each other; half
// types are computed in f32, and sums are taken in f64 and rounded once. Both may require a
// gradient. A loss, with its reduction, is one pass over the data, and so is its gradient, but
// where mse_loss, l1_loss and huber_loss have a weight: they are then composed of ops.

/// What becomes of the losses of the elements: `none` keeps them, `mean` divides their sum by their
/// number (NaN for none), `batchmean` by the size of the first dimension (kl_div alone).
enum class Reduction : uint8_t { none, mean, sum, batchmean };

// For input x and target t, which broadcast; d = x - t. As PyTorch, the first four say on stderr
// that shapes differ, the first time that it happens. A `weight` of the input's shape multiplies
// the losses, and may require a gradient. Errors: a weight of another shape.

/// d^2. With a weight `mean` divides the sum by the weight's sum.
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean,
                const Tensor& weight = {});
/// |d|. With a weight `mean` divides the sum by the weight's sum.
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean,
               const Tensor& weight = {});
/// d^2 / (2 beta) where |d| < beta, |d| - beta / 2 elsewhere; beta = 0: |d| (Girshick 2015). Takes
/// no weight.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      Reduction reduction = Reduction::mean, double beta = 1.0);
/// d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) elsewhere (Huber 1964). With a weight `mean`
/// divides by the number of losses, as PyTorch's does.
Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean,
                  double delta = 1.0, const Tensor& weight = {});
/// t (log(t) - x), 0 log(0) = 0; with `log_target` the target is log(t): e^t (t - x).
Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean,
              bool log_target = false);

/// Weights broadcast to the input; they take no gradient.
struct BceOptions {
  Tensor weight = {};  // of each element's loss
  Reduction reduction = Reduction::mean;
};
struct BceWithLogitsOptions {
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
  Tensor pos_weight = {};  // p below, a class's: over 1 for more recall, under 1 for more precision
};
/// -(t log(x) + (1 - t) log(1 - x)), logarithms at least -100. Errors: x or t outside [0, 1].
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BceOptions& options = {});
/// -(p t log(s) + (1 - t) log(1 - s)), s = sigmoid(x), without overflow or cancellation.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BceWithLogitsOptions& options = {});

/// The cosine of the angle between two vectors along `dim`: sum(x1 x2) over the product of the
/// norms, each at least `eps`. The inputs broadcast; `dim` is one of the result of that.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1, double eps = 1e-8);
/// |x_i - x_j|_p of all pairs i < j of rows (N, D), in their order: (N (N - 1) / 2). Composed; it
/// takes N^2 D / 2 elements, and half types are computed in f32. Errors: p < 0.
Tensor pdist(const Tensor& input, double p = 2);
/// |x_i - y_j|_p of each row of x1 (*A, P, D) and each of x2 (*B, R, D): (*C, P, R), where *A and
/// *B broadcast to *C. For p = 2 they are sqrt(|x|^2 + |y|^2 - 2 x y), of a matrix product, where P
/// or R is above 25 ("use_mm_for_euclid_dist_if_necessary"), always ("use_mm_for_euclid_dist") or
/// never ("donot_use_mm_for_euclid_dist"): distances that are small beside the rows' length
/// then have an error of up to 1e-3 of it in f32. Else composed of sub and norm, between which
/// there are * P R D elements. Half types are computed in f32. Errors: p < 0, another mode. Source:
/// PyTorch's torch.cdist, whose modes these are.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2,
             const Text& compute_mode = "use_mm_for_euclid_dist_if_necessary");
/// 1 - cosine where the target is 1, max(cosine - margin, 0) where it is -1, 0 elsewhere, for
/// inputs (N, D) and target (N), or (D) and ().
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin = 0.0, Reduction reduction = Reduction::mean);

}  // namespace aorta

namespace aorta::kernel {

enum class LossKind : uint8_t { mse, l1, smooth_l1, huber, bce_with_logits, bce, kl_div, kl_log };

/// A loss and its parameters; weights are undefined where there are none.
struct PointwiseLoss {
  LossKind kind;
  const char* name;
  double parameter = 0;  // beta or delta
  bool reduced = true;
  double scale = 1;  // of the sum
  Tensor weight = {}, pos_weight = {};
};

/// Operands of one dtype, `count` elements in the same order without gaps; weights and a gradient
/// have a step of 1, or 0 for one number for all, and are null where there are none.
struct LossArgs {
  LossKind kind;
  double parameter;
  bool reduced;
  double scale;
  DType dtype;
  int64_t count;
  const void *input, *target;
  const void *weight, *pos_weight;
  int64_t weight_step, pos_weight_step;
  const void* gradient;  // of the backward op
  int64_t gradient_step;
  void* output;
};
/// output = the losses, or scale times their sum. Returns the position of the first input or
/// target outside the loss's domain, or -1.
using LossKernel = int64_t (*)(const LossArgs& args);
/// output = gradient * scale * d loss / d input.
using LossBackwardKernel = void (*)(const LossArgs& args);
extern Op<LossKernel, void (*)(Tensor& output, const Tensor& input, const Tensor& target,
                               const PointwiseLoss& loss)>
    pointwise_loss_op;
extern Op<LossBackwardKernel, NoGradient> pointwise_loss_backward_op;
/// The kernel of the gradient with respect to the input. Doesn't record gradients: a pass that
/// records itself composes it.
Tensor pointwise_loss_backward(const Tensor& gradient, const Tensor& input, const Tensor& target,
                               const PointwiseLoss& loss);

/// sum(x y), sum(x x) and sum(y y) along `dim` of tensors of one shape, (3, *the other dimensions),
/// in f64, which holds the square of any f32.
Tensor line_products(const Tensor& x, const Tensor& y, int dim);
struct LineProductsArgs {
  const void *x, *y;  // contiguous
  double* output;
  DType dtype;  // of x and y
  Lines lines;
  const double* gradient = nullptr;                   // of the output, for the backward op
  void *x_gradient = nullptr, *y_gradient = nullptr;  // where it is wanted
};
using LineProductsKernel = void (*)(const LineProductsArgs& args);
extern Op<LineProductsKernel, void (*)(Tensor& output, const Tensor& x, const Tensor& y, int dim)>
    line_products_op;
extern Op<LineProductsKernel, NoGradient> line_products_backward_op;
/// The gradients of x and y, of their dtype, from the sums', which is f64 and (3, *the other
/// dimensions); undefined where it isn't wanted. Doesn't record gradients.
std::array<Tensor, 2> line_products_backward(const Tensor& gradient, const Tensor& x,
                                             const Tensor& y, int dim, std::array<bool, 2> wanted);

}  // namespace aorta::kernel
