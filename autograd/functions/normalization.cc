#include <aorta/core/ops/normalization.h>

#include <aorta/autograd/functions/register.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

// A normalisation as reductions see it: the elements in a shape, those of its dimensions that share
// statistics, and those that parameters are broadcast along.
struct Frame {
  Shape elements;
  Dims shared, repeated;

  Shape of_statistics() const { return with_ones(shared); }
  Shape of_parameters() const { return with_ones(repeated); }

 private:
  Shape with_ones(const Dims& dims) const {
    Shape shape = elements;
    for (int64_t d : dims) shape[static_cast<int>(d)] = 1;
    return shape;
  }
};

Frame frame_of(const Shape& shape, const ChannelNormPlan& plan) {
  int64_t positions = 1;
  for (int d = 2; d < shape.size(); ++d) positions *= shape[d];
  return {{plan.groups, shape[0] / plan.groups, shape[1] / plan.width, plan.width, positions},
          {1, 3, 4},
          {0, 1, 4}};
}

Frame frame_of(const Shape& shape, const LineNormPlan& plan) {
  const int64_t lines = plan.length > 0 ? shape.numel() / plan.length : 0;
  return {{lines, plan.length}, {1}, {0}};
}

struct Inputs {
  Tensor gradient, input, weight, mean, var;  // in the dtype that is computed in
  double eps;
  bool given, centered;
};

// The gradients by ops, for a pass that records itself. With k = 1 / sqrt(var + eps):
//   x_hat = (x - mean) k, dx = k (g w - mean of g w - x_hat mean of g w x_hat),
// or k g w where the statistics are given; dw = sum of g x_hat; db = sum of g.
NormGradients composed(const Inputs& in, const Frame& frame, NormWanted wanted) {
  const Tensor g = in.gradient.reshape(frame.elements);
  NormGradients result;
  if (wanted.bias) result.bias = sum(g, frame.repeated).flatten();
  if (!wanted.input && !wanted.weight) return result;
  Tensor x, center, spread;
  if (in.input.defined()) x = in.input.reshape(frame.elements);
  if (in.given) {
    center = in.mean.reshape(frame.of_statistics());
    spread = in.var.reshape(frame.of_statistics());
  } else if (in.centered) {
    center = mean(x, frame.shared, true);
    spread = var(x, frame.shared, 0, true);
  } else {
    spread = mean(x * x, frame.shared, true);
  }
  const Tensor k = rsqrt(spread + in.eps);
  const Tensor gw = in.weight.defined() ? g * in.weight.reshape(frame.of_parameters()) : g;
  Tensor hat;
  if (x.defined()) hat = (center.defined() ? x - center : x) * k;
  if (wanted.weight) result.weight = sum(g * hat, frame.repeated).flatten();
  if (!wanted.input) return result;
  Tensor rest = gw;
  if (!in.given) {
    if (in.centered) rest = rest - mean(gw, frame.shared, true);
    rest = rest - hat * mean(gw * hat, frame.shared, true);
  }
  result.input = rest * k;
  return result;
}

Tensor widened(const Tensor& t) { return t.defined() && is_half(t.dtype()) ? t.to(DType::f32) : t; }
Tensor like(const Tensor& t, const Tensor& other) { return t.defined() ? t.to(other.dtype()) : t; }

NormGradients fused(const Tensor& g, const Tensor& x, const Tensor& w, const Tensor& b,
                    const Tensor& mean, const Tensor& var, const ChannelNormPlan& plan,
                    NormWanted wanted) {
  return channel_norm_backward(g, x, w, b, mean, var, plan, wanted);
}
NormGradients fused(const Tensor& g, const Tensor& x, const Tensor& w, const Tensor&,
                    const Tensor& mean, const Tensor& var, const LineNormPlan& plan,
                    NormWanted wanted) {
  return line_norm_backward(g, x, w, mean, var, plan, wanted);
}

bool is_given(const ChannelNormPlan& plan) { return plan.given; }
bool is_given(const LineNormPlan&) { return false; }
bool is_rectified(const ChannelNormPlan& plan) { return plan.relu; }
bool is_rectified(const LineNormPlan&) { return false; }
bool is_centered(const ChannelNormPlan&) { return true; }
bool is_centered(const LineNormPlan& plan) { return plan.centered; }

// The gradient of the output before max(y, 0).
Tensor rectified(const Tensor& gradient, const Tensor& x, const Tensor& w, const Tensor& b,
                 const Tensor& mean, const Tensor& var, const ChannelNormPlan& plan) {
  if (!plan.relu) return gradient;
  Tensor is_zero;
  {
    const NoGradGuard no_grad;
    is_zero = le(batch_norm_again(x, w, b, mean, var, plan), 0);
  }
  return masked_fill(gradient, is_zero, 0);
}
Tensor rectified(const Tensor& gradient, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                 const Tensor&, const LineNormPlan&) {
  return gradient;
}

template <class Plan>
void record_norm(const char* name, Tensor& output, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, const Tensor& mean, const Tensor& var, const Plan& plan) {
  // Statistics that are given make the input's gradient independent of the input.
  const bool reads_input = !is_given(plan) || is_rectified(plan) || needs_gradient(weight);
  record(name, output, {&input, &weight, &bias},
         [plan, shape = output.shape(), x = reads_input ? Saved(input, 0) : Saved(),
          w = Saved(weight, 1), b = is_rectified(plan) ? Saved(bias, 2) : Saved(),
          m = Saved(mean, 3), v = Saved(var, 4)](Gradients& g) {
           const NormWanted wanted{g.wanted(0), g.wanted(1), g.wanted(2)};
           const Tensor saved_x = g.saved(x), saved_w = g.saved(w), saved_b = g.saved(b);
           NormGradients result;
           if (!grad_enabled()) {
             result =
                 fused(g.output(), saved_x, saved_w, saved_b, g.saved(m), g.saved(v), plan, wanted);
           } else {
             const Tensor gradient = widened(
                 rectified(g.output(), saved_x, saved_w, saved_b, g.saved(m), g.saved(v), plan));
             result = composed(
                 {gradient, widened(saved_x), like(saved_w, gradient), like(g.saved(m), gradient),
                  like(g.saved(v), gradient), plan.eps, is_given(plan), is_centered(plan)},
                 frame_of(shape, plan), wanted);
           }
           if (wanted.input) g.input(0) = result.input.reshape(shape);
           if (wanted.weight) g.input(1) = result.weight.reshape(g.input_shape(1));
           if (wanted.bias) g.input(2) = result.bias.reshape(g.input_shape(2));
         });
}

Tensor copy_of(const Tensor& t) { return t.defined() ? t.detach().clone() : t; }

Rebuild again(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
              const Tensor& var, const ChannelNormPlan& plan) {
  return [x = input.detach(), version = input.version(), w = copy_of(weight), b = copy_of(bias),
          mean, var, plan] {
    check(x.version() == version, "batch_norm",
          "its input, kept for the gradient, must not be changed in place", x.shape());
    return batch_norm_again(x, w, b, mean, var, plan);
  };
}

template <const auto& op>
void gradient(Tensor& output, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const Tensor& mean, const Tensor& var, const ChannelNormPlan& plan) {
  record_norm(op.name(), output, input, weight, bias, mean, var, plan);
  if (plan.relu) set_rebuild(output, again(input, weight, bias, mean, var, plan));
}
template <const auto& op>
void line_gradient(Tensor& output, const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Tensor& mean, const Tensor& var, const LineNormPlan& plan) {
  record_norm(op.name(), output, input, weight, bias, mean, var, plan);
}

}  // namespace

void register_normalization() {
  batch_norm_op.set_gradient(gradient<batch_norm_op>);
  instance_norm_op.set_gradient(gradient<instance_norm_op>);
  group_norm_op.set_gradient(gradient<group_norm_op>);
  layer_norm_op.set_gradient(line_gradient<layer_norm_op>);
  rms_norm_op.set_gradient(line_gradient<rms_norm_op>);
}

}  // namespace aorta::autograd
