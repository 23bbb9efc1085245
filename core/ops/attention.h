#pragma once

#include <aorta/core/dispatch/op_table.h>

#include <optional>

namespace aorta {

/// The options of scaled_dot_product_attention, with PyTorch's names and defaults.
struct AttentionOptions {
  /// Broadcasts to (*, L, S): bool, true where a query sees a key, or of the query's dtype, added
  /// to the products.
  Tensor attn_mask = {};
  double dropout_p = 0;
  bool is_causal = false;            // query i sees the keys up to i; not together with a mask
  std::optional<double> scale = {};  // 1 / sqrt(E)
};
/// softmax(scale query key^T + mask) value for query (*, L, E), key (*, S, E) and value (*, S, Ev)
/// of one floating dtype; the dimensions in front broadcast. A query that sees no key gets zeros.
/// Half types are computed in f32 and rounded once. Rows of queries are taken block by block, and
/// of the (L, S) weights only a sum a row is kept; with dropout, or where the mask requires a
/// gradient, it is composed of other ops, which keep them whole.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

}  // namespace aorta

namespace aorta::kernel {

/// Query, key and value with all dimensions broadcast, in the compute dtype.
struct AttentionArgs {
  Tensor query, key, value;
  Tensor mask;
  bool is_causal = false;
  double scale = 1;
};
/// scale query key^T + mask for the queries from `first` on; -inf where a key isn't seen. Composed
/// of differentiable ops.
Tensor attention_scores(const AttentionArgs& args, int64_t first, int64_t count);
/// exp(scores - log_sum), 0 in rows without keys.
Tensor attention_weights(const Tensor& scores, const Tensor& log_sum);

struct AttentionGradients {
  Tensor query, key, value;
};
/// Block by block from the output and the logarithms of the rows' sums (*, L, 1). Doesn't record
/// gradients.
AttentionGradients attention_backward(const Tensor& gradient, const AttentionArgs& args,
                                      const Tensor& output, const Tensor& log_sum);

extern Op<NoKernel, void (*)(Tensor& output, const AttentionArgs& args, const Tensor& log_sum)>
    attention_op;

}  // namespace aorta::kernel
