#include <aorta/core/ops/attention.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

// As attention_backward, all at once and of differentiable ops.
AttentionGradients composed_backward(const Tensor& gradient, const AttentionArgs& args) {
  const Tensor scores = attention_scores(args, 0, args.query.size(-2));
  const Tensor weights = attention_weights(scores, logsumexp(scores, -1, true));
  // A causal block has no columns for keys that none of its queries sees.
  const int64_t keys = scores.size(-1), unseen = args.key.size(-2) - keys;
  const Tensor key = args.key.narrow(-2, 0, keys), value = args.value.narrow(-2, 0, keys);
  const Tensor slopes = matmul(gradient, value.transpose(-2, -1));
  const Tensor inner = weights * (slopes - sum(slopes * weights, -1, true)) * args.scale;
  const auto filled = [&](const Tensor& x) { return unseen == 0 ? x : pad(x, {0, 0, 0, unseen}); };
  return {matmul(inner, key), filled(matmul(inner.transpose(-2, -1), args.query)),
          filled(matmul(weights.transpose(-2, -1), gradient))};
}

void attention_gradient(Tensor& output, const AttentionArgs& args, const Tensor& log_sum) {
  record("scaled_dot_product_attention", output, {&args.query, &args.key, &args.value},
         [causal = args.is_causal, scale = args.scale, q = Saved(args.query, 0),
          k = Saved(args.key, 1), v = Saved(args.value, 2), m = Saved(args.mask, 3),
          y = Saved::output(output), sums = Saved(log_sum, 4)](Gradients& g) {
           const AttentionArgs whole{g.saved(q), g.saved(k), g.saved(v), g.saved(m), causal, scale};
           const AttentionGradients found =
               grad_enabled() ? composed_backward(g.output(), whole)
                              : attention_backward(g.output(), whole, g.saved(y), g.saved(sums));
           g.input(0) = found.query;
           g.input(1) = found.key;
           g.input(2) = found.value;
         });
}

}  // namespace

void register_attention() { attention_op.set_gradient(attention_gradient); }

}  // namespace aorta::autograd
