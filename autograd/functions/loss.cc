#include <aorta/core/ops/loss.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/pointwise.h>

namespace aorta::autograd {
namespace {

// An input, its target, the losses' weights and the gradient that they are multiplied by.
struct Operands {
  Tensor x, t, weight, pos_weight, gradient;
};

bool is_of_difference(LossKind kind) { return kind <= LossKind::huber; }

// 1 + (p - 1) t, p the weight of the positive class.
Tensor both_classes(const Operands& o) {
  return o.pos_weight.defined() ? 1 + (o.pos_weight - 1) * o.t : Tensor();
}

Tensor slope_of_input(const PointwiseLoss& loss, const Operands& o) {
  const Tensor &x = o.x, &t = o.t;
  switch (loss.kind) {
    case LossKind::mse:
      return (x - t) * 2;
    case LossKind::l1:
      return sign(x - t);
    case LossKind::smooth_l1:
      return clamp((x - t) * (1 / loss.parameter), -1, 1);
    case LossKind::huber:
      return clamp(x - t, -loss.parameter, loss.parameter);
    case LossKind::bce_with_logits:
      return o.pos_weight.defined() ? both_classes(o) * sigmoid(x) - o.pos_weight * t
                                    : sigmoid(x) - t;
    case LossKind::bce:
      return (x - t) / clamp_min((1 - x) * x, 1e-12);
    case LossKind::kl_div:
      return -t;
    case LossKind::kl_log:
      break;
  }
  return -exp(t);
}

Tensor slope_of_target(const PointwiseLoss& loss, const Operands& o) {
  const Tensor &x = o.x, &t = o.t;
  switch (loss.kind) {
    case LossKind::bce_with_logits:
      return o.pos_weight.defined() ? (o.pos_weight - 1) * softplus(-x) - x : -x;
    case LossKind::bce:
      return clamp_min(log1p(-x), -100) - clamp_min(log(x), -100);
    case LossKind::kl_div:
      return log(t) + 1 - x;
    case LossKind::kl_log:
      return exp(t) * (t + 1 - x);
    default:
      return -slope_of_input(loss, o);
  }
}

Tensor weighted(const PointwiseLoss& loss, const Operands& o, const Tensor& slope) {
  const Tensor g = loss.scale == 1 ? o.gradient : o.gradient * loss.scale;
  return o.weight.defined() ? g * o.weight * slope : g * slope;
}

void pointwise_loss_gradient(Tensor& output, const Tensor& input, const Tensor& target,
                             const PointwiseLoss& given) {
  PointwiseLoss loss = given;
  loss.weight = loss.pos_weight = Tensor();
  record(loss.name, output, {&input, &target},
         [loss, x = Saved(input, 0), t = Saved(target, 1), w = Saved(given.weight, 2),
          p = Saved(given.pos_weight, 3)](Gradients& g) {
           const Operands o{g.saved(x), g.saved(t), g.saved(w), g.saved(p), g.output()};
           PointwiseLoss whole = loss;
           whole.weight = o.weight;
           whole.pos_weight = o.pos_weight;
           const bool fused = !grad_enabled(), difference = is_of_difference(loss.kind);
           if (g.wanted(0) || (fused && difference)) {
             g.input(0) = fused ? pointwise_loss_backward(o.gradient, o.x, o.t, whole)
                                : weighted(whole, o, slope_of_input(whole, o));
           }
           if (!g.wanted(1)) return;
           g.input(1) =
               fused && difference ? -g.input(0) : weighted(whole, o, slope_of_target(whole, o));
         });
}

// Records the gradients of sum(x y), sum(x x) and sum(y y). They stay in f64, for those of long and
// of short lines are beyond f32 where the gradients of x and y aren't.
void line_products_gradient(Tensor& output, const Tensor& x, const Tensor& y, int dim) {
  record("line_products", output, {&x, &y}, [dim, a = Saved(x, 0), b = Saved(y, 1)](Gradients& g) {
    const Tensor left = g.saved(a), right = g.saved(b);
    if (!grad_enabled()) {
      const std::array<bool, 2> wanted = {g.wanted(0), g.wanted(1)};
      const auto gradients = line_products_backward(g.output(), left, right, dim, wanted);
      for (int i = 0; i < 2; ++i) {
        if (wanted[static_cast<size_t>(i)]) g.input(i) = gradients[static_cast<size_t>(i)];
      }
      return;
    }
    const auto part = [&](int64_t i) {
      const Tensor line = g.output().select(0, i);
      return left.dim() == 0 ? line : line.unsqueeze(dim);
    };
    if (g.wanted(0)) g.input(0) = part(0) * right + part(1) * 2 * left;
    if (g.wanted(1)) g.input(1) = part(0) * left + part(2) * 2 * right;
  });
}

}  // namespace

void register_loss() {
  pointwise_loss_op.set_gradient(pointwise_loss_gradient);
  line_products_op.set_gradient(line_products_gradient);
}

}  // namespace aorta::autograd
