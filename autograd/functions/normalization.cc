#include <aorta/core/ops/normalization.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>

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

void set_inputs(Gradients& g, const NormGradients& result, NormWanted wanted, const Shape& shape) {
  if (wanted.input) g.input(0) = result.input.reshape(shape);
  if (wanted.weight) g.input(1) = result.weight.reshape(g.input_shape(1));
  if (wanted.bias) g.input(2) = result.bias.reshape(g.input_shape(2));
}

// What a channel norm saves, and its gradient.
struct ChannelNorm {
  ChannelNormPlan plan;
  Saved input, weight, residual, mean, var, maps;

  void operator()(Gradients& g) const {
    const NormWanted wanted{g.wanted(0), g.wanted(1), g.wanted(2)};
    const NormForward forward{.input = g.saved(input),
                              .weight = g.saved(weight),
                              .residual = g.saved(residual),
                              .mean = g.saved(mean),
                              .var = g.saved(var),
                              .maps = g.saved(maps)};
    const bool has_residual = forward.residual.defined();
    const Shape shape = g.output().shape();
    ChannelNormPlan inner = plan;
    Tensor gradient = g.output();
    if (has_residual && !grad_enabled()) {
      gradient = batch_norm_masked_gradient(gradient, forward, plan);
      inner.relu = false;
    } else if (plan.relu && grad_enabled()) {
      Tensor is_zero;
      {
        const NoGradGuard no_grad;
        is_zero = le(batch_norm_recomputed(forward, plan), 0);
      }
      gradient = masked_fill(gradient, is_zero, 0);
    }
    if (has_residual && g.wanted(3)) g.input(3) = gradient;
    if (!wanted.input && !wanted.weight && !wanted.bias) return;
    if (!grad_enabled()) {
      return set_inputs(g, channel_norm_backward(gradient, forward, inner, wanted), wanted, shape);
    }
    gradient = widened(gradient);
    const Inputs inputs{gradient,
                        widened(forward.input),
                        like(forward.weight, gradient),
                        like(forward.mean, gradient),
                        like(forward.var, gradient),
                        plan.eps,
                        plan.given,
                        true};
    set_inputs(g, composed(inputs, frame_of(shape, plan), wanted), wanted, shape);
  }
};

// A tensor that the graph keeps anyway, and that must still be what it was.
struct Kept {
  Tensor tensor;
  uint32_t version = 0;
  std::shared_ptr<const Rebuild> rebuild;

  explicit Kept(const Tensor& t) {
    if (!t.defined()) return;
    rebuild = rebuild_of(t);
    version = t.version();
    if (!rebuild) tensor = t.detach();
  }
  Tensor elements() const {
    if (rebuild) return rebuild->elements();
    if (tensor.defined() && tensor.version() != version)
      fail("batch_norm", "a tensor saved for the gradient must not be changed in place",
           tensor.shape());
    return tensor;
  }
};

// Says how a batch norm's output is computed again from what is kept. That calls at most one other
// such function, so a chain of blocks with residuals keeps some outputs and computes the others
// again.
void set_rebuild_of(const Tensor& output, const NormForward& forward, const ChannelNormPlan& plan) {
  const Kept x(forward.input), r(forward.residual);
  int depth = 0;
  for (const Kept* kept : {&x, &r}) {
    if (kept->rebuild) depth = std::max(depth, kept->rebuild->depth + 1);
  }
  if (depth > 1) return;
  // The maps stand for weight and bias, which may change.
  const auto elements = [x, r, mean = forward.mean, var = forward.var, maps = forward.maps, plan] {
    return batch_norm_recomputed(
        {.input = x.elements(), .residual = r.elements(), .mean = mean, .var = var, .maps = maps},
        plan);
  };
  set_rebuild(output, {elements, depth});
}

template <const auto& op>
void gradient(Tensor& output, const NormForward& f, const ChannelNormPlan& plan) {
  // Statistics that are given make the input's gradient independent of the input.
  const bool reads_input = !plan.given || plan.relu || needs_gradient(f.weight);
  record(op.name(), output, {&f.input, &f.weight, &f.bias, &f.residual},
         ChannelNorm{plan, reads_input ? Saved(f.input, 0) : Saved(), Saved(f.weight, 1),
                     Saved(f.residual, 3), Saved(f.mean, 4), Saved(f.var, 5), Saved(f.maps, 6)});
  // A GPU waits for passes over memory, and not for the processor: there outputs are kept.
  if (&op == &batch_norm_op && reads_input && output.device().is_cpu())
    set_rebuild_of(output, f, plan);
}

template <const auto& op>
void line_gradient(Tensor& output, const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Tensor& mean, const Tensor& var, const LineNormPlan& plan) {
  record(op.name(), output, {&input, &weight, &bias},
         [plan, x = Saved(input, 0), w = Saved(weight, 1), m = Saved(mean, 3),
          v = Saved(var, 4)](Gradients& g) {
           const NormWanted wanted{g.wanted(0), g.wanted(1), g.wanted(2)};
           const Tensor saved_x = g.saved(x), saved_w = g.saved(w);
           const Tensor mean_of_x = g.saved(m), var_of_x = g.saved(v);
           const Shape shape = g.output().shape();
           if (!grad_enabled()) {
             const NormForward forward{
                 .input = saved_x, .weight = saved_w, .mean = mean_of_x, .var = var_of_x};
             return set_inputs(g, line_norm_backward(g.output(), forward, plan, wanted), wanted,
                               shape);
           }
           const Tensor y = widened(g.output());
           const Inputs inputs{y,
                               widened(saved_x),
                               like(saved_w, y),
                               like(mean_of_x, y),
                               like(var_of_x, y),
                               plan.eps,
                               false,
                               plan.centered};
           set_inputs(g, composed(inputs, frame_of(shape, plan), wanted), wanted, shape);
         });
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
