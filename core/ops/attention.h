#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/dropout.h>

#include <optional>

namespace aorta {

/// The options of scaled_dot_product_attention, with PyTorch's names and defaults.
struct AttentionOptions {
  /// Broadcasts to (*, L, S): bool, true where a query sees a key, or of the query's dtype, added
  /// to the products.
  Tensor attn_mask = {};
  double dropout_p = 0;              // of the weights, by the default generator
  bool is_causal = false;            // query i sees the keys up to i; not together with a mask
  std::optional<double> scale = {};  // 1 / sqrt(E)
  /// Dimension -3 are heads: the query may have a multiple of the keys' and values', of which each
  /// serves as many that follow one another (grouped queries). Nothing is copied.
  bool enable_gqa = false;
};
/// softmax(scale query key^T + mask) value for query (*, L, E), key (*, S, E) and value (*, S, Ev)
/// of one floating dtype; the dimensions in front broadcast. A query that sees no key gets zeros.
/// The (L, S) weights are never written: kernels of our own, or of cuDNN, take them block by block,
/// and keep the logarithm of a sum a row, from which the backward pass makes them again (Dao et al.
/// 2022, "FlashAttention"); what dropout drops is asked of the generator again. Half types are
/// summed in f32; the weights are rounded to the half type where products of it are native.
/// Operands may have any strides; the result and gradients have the operands' order of dimensions,
/// so that nothing is copied between them and a packed projection. Where the mask requires a
/// gradient, it is composed of other ops, which keep the weights.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

}  // namespace aorta

namespace aorta::kernel {

/// Query (N, H, L, E), key (N, H, S, E), value (N, H, S, Ev) and mask, undefined or (N, H, L, S).
struct AttentionArgs {
  Tensor query, key, value;
  Tensor mask;
  bool is_causal = false;
  double scale = 1;
  DropoutMask dropout = {};  // of the (N, H, L, S) weights; a threshold of 0 drops none
};
/// scale query key^T + mask, -inf where a key isn't seen. Composed of differentiable ops, in f32
/// for half types.
Tensor attention_scores(const AttentionArgs& args);
/// exp(scores - log_sum), 0 in rows without keys.
Tensor attention_weights(const Tensor& scores, const Tensor& log_sum);

struct AttentionGradients {
  Tensor query, key, value;
};
/// Block by block from the output (N, H, L, Ev) and the logarithms of the rows' sums (N, H, L).
/// Doesn't record gradients.
AttentionGradients attention_backward(const Tensor& gradient, const AttentionArgs& args,
                                      const Tensor& output, const Tensor& log_sum);

/// Where a tensor of four dimensions lies; strides in elements.
struct AttentionOperand {
  void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0, column = 0;
};
/// Rows of what kernels write, of the output and of its gradient are contiguous.
struct AttentionKernelArgs {
  DType dtype = DType::f32;
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  int64_t features = 0, value_features = 0;  // E and Ev
  AttentionOperand query, key, value;
  AttentionOperand mask;  // no data: none
  DType mask_dtype = DType::boolean;
  bool is_causal = false;
  double scale = 1;
  DropoutMask dropout = {};
  AttentionOperand output;
  void* log_sum = nullptr;  // (N, H, L) of the compute dtype, -inf for a query that sees no key
};
struct AttentionBackwardArgs : AttentionKernelArgs {
  AttentionOperand gradient;
  AttentionOperand query_gradient, key_gradient, value_gradient;
};

extern Op<void (*)(const AttentionKernelArgs& args),
          void (*)(Tensor& output, const AttentionArgs& args, const Tensor& log_sum)>
    attention_op;
/// A backward pass that records itself is composed of ops, so this has no gradient.
extern Op<void (*)(const AttentionBackwardArgs& args), NoGradient> attention_backward_op;

}  // namespace aorta::kernel
