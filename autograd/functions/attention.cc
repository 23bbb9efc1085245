#include <aorta/core/ops/attention.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

// As attention_backward, all at once and of differentiable ops.
AttentionGradients composed_backward(const Tensor& output_gradient, const AttentionArgs& args) {
  const Tensor scores = attention_scores(args);
  if (scores.size(-1) == 0) {
    return {zeros_like(args.query), zeros_like(args.key), zeros_like(args.value)};
  }
  const DType dtype = args.query.dtype(), compute = scores.dtype();
  const auto dropped = [&](const Tensor& x) {
    return args.dropout.threshold > 0 ? masked_dropout(x, args.dropout) : x;
  };
  const Tensor weights = attention_weights(scores, logsumexp(scores, -1, true));
  const Tensor gradient = output_gradient.to(compute);
  const Tensor slopes = dropped(matmul(gradient, args.value.to(compute).transpose(-2, -1)));
  const Tensor inner = weights * (slopes - sum(slopes * weights, -1, true)) * args.scale;
  return {matmul(inner, args.key.to(compute)).to(dtype),
          matmul(inner.transpose(-2, -1), args.query.to(compute)).to(dtype),
          matmul(dropped(weights).transpose(-2, -1), gradient).to(dtype)};
}

void attention_gradient(Tensor& output, const AttentionArgs& args, const Tensor& log_sum) {
  record(
      "scaled_dot_product_attention", output, {&args.query, &args.key, &args.value},
      [causal = args.is_causal, scale = args.scale, dropout = args.dropout,
       q = Saved(args.query, 0), k = Saved(args.key, 1), v = Saved(args.value, 2),
       m = Saved(args.mask, 3), y = Saved::output(output), sums = Saved(log_sum, 4)](Gradients& g) {
        const AttentionArgs whole{g.saved(q), g.saved(k), g.saved(v), g.saved(m),
                                  causal,     scale,      dropout};
        const AttentionGradients found =
            grad_enabled() ? composed_backward(g.output(), whole)
                           : attention_backward(g.output(), whole, g.saved(y), g.saved(sums));
        if (g.wanted(0)) g.input(0) = found.query;
        if (g.wanted(1)) g.input(1) = found.key;
        if (g.wanted(2)) g.input(2) = found.value;
      });
}

}  // namespace

void register_attention() { attention_op.set_gradient(attention_gradient); }

}  // namespace aorta::autograd
