#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::kernel {

constinit Op<void (*)(const AttentionKernelArgs&),
             void (*)(Tensor&, const AttentionArgs&, const Tensor&)>
    attention_op{"scaled_dot_product_attention"};
constinit Op<void (*)(const AttentionBackwardArgs&), NoGradient> attention_backward_op{
    "scaled_dot_product_attention_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Shape batch_of(const Tensor& x) {
  Shape shape = x.shape();
  shape.resize(x.dim() - 2);
  return shape;
}

// x as (N, H, rows, columns), with `batch` in front of rows and columns. The first of more than
// four dimensions become one.
Tensor with_heads(const Tensor& x, const Shape& batch) {
  Shape shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  Tensor result = x.shape() == shape ? x : x.expand(shape);
  while (result.dim() < 4) result = result.unsqueeze(0);
  if (result.dim() == 4) return result;
  int64_t front = 1;
  for (int d = 0; d < batch.size() - 1; ++d) front *= batch[d];
  return result.reshape({front, batch.back(), x.size(-2), x.size(-1)});
}

void check_operands(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionOptions& options) {
  check_defined(op, {{"query", q}, {"key", k}, {"value", v}});
  check(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, op,
        "query, key and value must have at least 2 dimensions", q.shape(), ", ", k.shape(), " and ",
        v.shape());
  check(is_floating(q.dtype()), op, "dtype must be floating", q.dtype());
  check(q.dtype() == k.dtype() && q.dtype() == v.dtype(), op,
        "query, key and value must have one dtype", q.dtype(), ", ", k.dtype(), " and ", v.dtype());
  check(q.device() == k.device() && q.device() == v.device(), op, "tensors must be on one device",
        q.device(), ", ", k.device(), " and ", v.device());
  check(q.size(-1) == k.size(-1), op, "query and key must agree in their last dimension", q.shape(),
        " and ", k.shape());
  check(k.size(-2) == v.size(-2), op, "there must be as many keys as values", k.shape(), " and ",
        v.shape());
  const double p = options.dropout_p;
  check(p >= 0 && p <= 1, op, "dropout_p must lie in [0, 1]", p);
  check(!options.is_causal || !options.attn_mask.defined(), op, "either attn_mask or is_causal",
        "both");
}

void check_mask(const char* op, const Tensor& mask, const Shape& scores, const Tensor& query) {
  check(mask.dtype() == DType::boolean || mask.dtype() == query.dtype(), op,
        "attn_mask must be bool or of the query's dtype", mask.dtype(), " for ", query.dtype());
  check(mask.device() == query.device(), op, "tensors must be on one device", query.device(),
        " and ", mask.device());
  check(broadcast_shapes(op, mask.shape(), scores) == scores, op,
        "attn_mask must broadcast to (*, L, S)", mask.shape(), " for ", scores);
}

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }

DType compute_dtype_of(const Tensor& x) { return is_half(x.dtype()) ? DType::f32 : x.dtype(); }

Tensor computed(const Tensor& x) { return x.to(compute_dtype_of(x)); }

// Attention composed of differentiable ops, with the whole of the weights.
Tensor composed(const AttentionArgs& args) {
  const Tensor scores = attention_scores(args);
  Tensor weights =
      args.key.size(-2) == 0 ? scores : attention_weights(scores, logsumexp(scores, -1, true));
  if (args.dropout.threshold > 0) weights = masked_dropout(weights, args.dropout);
  return matmul(weights, computed(args.value)).to(args.query.dtype());
}

AttentionArgs detached(const AttentionArgs& args) {
  return {args.query.detach(), args.key.detach(),
          args.value.detach(), args.mask.defined() ? args.mask.detach() : Tensor(),
          args.is_causal,      args.scale,
          args.dropout};
}

AttentionOperand operand_of(const Tensor& x) {
  return {x.data(), x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
}

// Fresh, with rows that are contiguous and otherwise the order of the dimensions of `like`.
Tensor fresh(const Shape& shape, const Tensor& like) {
  const TensorOptions options{.dtype = like.dtype(), .device = like.device()};
  const Strides strides = dense_strides(shape, like.strides());
  return shape[3] == 1 || strides[3] == 1 ? empty_strided(shape, strides, options)
                                          : empty(shape, options);
}

Tensor with_contiguous_rows(const Tensor& x) {
  return x.size(3) == 1 || x.stride(3) == 1 ? x : x.contiguous();
}

void fill(AttentionKernelArgs& to, const AttentionArgs& args, const Tensor& output,
          const Tensor& log_sum) {
  const Tensor &q = args.query, &v = args.value;
  to.dtype = q.dtype();
  to.batch = q.size(0);
  to.heads = q.size(1);
  to.queries = q.size(2);
  to.keys = v.size(2);
  to.features = q.size(3);
  to.value_features = v.size(3);
  to.query = operand_of(q);
  to.key = operand_of(args.key);
  to.value = operand_of(v);
  if (args.mask.defined()) {
    to.mask = operand_of(args.mask);
    to.mask_dtype = args.mask.dtype();
  }
  to.is_causal = args.is_causal;
  to.scale = args.scale;
  to.dropout = args.dropout;
  to.output = operand_of(output);
  to.log_sum = log_sum.data();
}

// Multiplications of a query's element with a seen key's, or a weight with a value's.
int64_t products(const AttentionArgs& args, int64_t with_keys, int64_t with_values) {
  const Tensor &q = args.query, &v = args.value;
  const int64_t queries = q.size(2), keys = v.size(2), both = std::min(queries, keys);
  const int64_t seen =
      args.is_causal ? both * (both + 1) / 2 + (queries - both) * keys : queries * keys;
  return q.size(0) * q.size(1) * seen * (with_keys * q.size(3) + with_values * v.size(3));
}

Tensor run(const AttentionArgs& args, const Tensor& log_sum) {
  Shape shape = args.query.shape();
  shape.back() = args.value.size(3);
  const Tensor output = fresh(shape, args.query);
  AttentionKernelArgs kernel_args;
  fill(kernel_args, args, output, log_sum);
  if (log_sum.numel() > 0) attention_op.kernel(output.device())(kernel_args);
  return output;
}

}  // namespace

Tensor kernel::attention_scores(const AttentionArgs& args) {
  const Tensor &query = args.query, &mask = args.mask;
  Tensor scores = matmul(computed(query) * args.scale, transposed(computed(args.key)));
  if (mask.defined()) {
    scores =
        mask.dtype() == DType::boolean ? where(mask, scores, -kInfinity) : scores + computed(mask);
  }
  if (args.is_causal) {
    const TensorOptions options{.dtype = DType::i64, .device = query.device()};
    const Tensor seen =
        ge(arange(query.size(-2), options).unsqueeze(1), arange(args.key.size(-2), options));
    scores = where(seen, scores, -kInfinity);
  }
  return scores;
}

Tensor kernel::attention_weights(const Tensor& scores, const Tensor& log_sum) {
  return exp(scores - where(eq(log_sum, -kInfinity), 0, log_sum));
}

AttentionGradients kernel::attention_backward(const Tensor& gradient, const AttentionArgs& given,
                                              const Tensor& output, const Tensor& log_sum) {
  const CalledOp called(attention_backward_op.name());
  const ProfilerRange range(attention_backward_op.name(), {&given.query, &given.key, &given.value});
  const AttentionArgs args = detached(given);
  const Tensor g = with_contiguous_rows(gradient.detach());
  const Tensor y = with_contiguous_rows(output.detach());
  const Tensor sums = log_sum.detach().contiguous();
  const AttentionGradients result{fresh(args.query.shape(), args.query),
                                  fresh(args.key.shape(), args.key),
                                  fresh(args.value.shape(), args.value)};
  if (range.is_open()) range.count(products(args, 3, 2));
  AttentionBackwardArgs kernel_args;
  fill(kernel_args, args, y, sums);
  kernel_args.gradient = operand_of(g);
  kernel_args.query_gradient = operand_of(result.query);
  kernel_args.key_gradient = operand_of(result.key);
  kernel_args.value_gradient = operand_of(result.value);
  if (kernel_args.batch * kernel_args.heads > 0)
    attention_backward_op.kernel(g.device())(kernel_args);
  return result;
}

// Heads (.., H, L, E) as (.., groups, H / groups, L, E).
static Tensor in_groups(const Tensor& heads, int64_t groups) {
  Shape shape = heads.shape();
  const int at = shape.size() - 3;
  shape.insert(at + 1, shape[at] / groups);
  shape[at] = groups;
  return heads.reshape(shape);
}

// The keys' heads are a dimension of their own, along which those that each serves broadcast.
static Tensor grouped_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttentionOptions& options) {
  const char* const op = attention_op.name();
  check_defined(op, {{"query", query}, {"key", key}, {"value", value}});
  check(query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3, op,
        "grouped queries need a dimension of heads", query.shape(), ", ", key.shape(), " and ",
        value.shape());
  const int64_t heads = query.size(-3), groups = key.size(-3);
  check(groups == value.size(-3) && groups > 0 && heads % groups == 0, op,
        "the query's heads must be a multiple of the keys' and values'", heads, ", ", groups,
        " and ", value.size(-3));
  AttentionOptions each = options;
  each.enable_gqa = false;
  if (const Tensor& mask = options.attn_mask; mask.defined() && mask.dim() >= 3)
    each.attn_mask = mask.size(-3) == heads ? in_groups(mask, groups) : mask.unsqueeze(-3);
  const Tensor result = scaled_dot_product_attention(in_groups(query, groups), key.unsqueeze(-3),
                                                     value.unsqueeze(-3), each);
  return result.flatten(-4, -3);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const CalledOp called("scaled_dot_product_attention");
  if (options.enable_gqa) return grouped_attention(query, key, value, options);
  const char* const op = attention_op.name();
  const Tensor q = autocast_to_half(query), k = autocast_to_half(key), v = autocast_to_half(value);
  check_operands(op, q, k, v, options);
  Tensor mask = options.attn_mask;
  if (mask.defined() && is_floating(mask.dtype())) mask = autocast_to_half(mask);
  const Autocast as_it_is(DType::f32);
  const ProfilerRange range(op, {&q, &k, &v});
  const Shape batch =
      broadcast_shapes(op, broadcast_shapes(op, batch_of(q), batch_of(k)), batch_of(v));
  Shape scores = batch;
  scores.push_back(q.size(-2));
  scores.push_back(k.size(-2));
  if (mask.defined()) {
    check_mask(op, mask, scores, q);
    while (mask.dim() < 2) mask = mask.unsqueeze(0);
    mask = mask.expand(scores);
  }
  const int64_t features = std::max<int64_t>(q.size(-1), 1);
  AttentionArgs args{
      with_heads(q, batch), with_heads(k, batch),
      with_heads(v, batch), mask.defined() ? with_heads(mask, batch) : Tensor(),
      options.is_causal,    options.scale.value_or(1 / std::sqrt(static_cast<double>(features)))};
  if (options.dropout_p > 0)
    args.dropout = take_dropout_mask(scores.numel(), options.dropout_p, q.device());
  Tensor output;
  if (mask.defined() && needs_gradient(mask)) {
    output = composed(args);
  } else {
    const DType compute = compute_dtype_of(q);
    Shape rows = args.query.shape();
    rows.resize(3);
    const Tensor log_sum = empty(rows, {.dtype = compute, .device = q.device()});
    output = run(detached(args), log_sum);
    if (range.is_open()) range.count(products(args, 1, 1));
    if (needs_gradient(args.query, args.key, args.value))
      attention_op.gradient()(output, args, log_sum);
  }
  Shape shape = batch;
  shape.push_back(q.size(-2));
  shape.push_back(v.size(-1));
  const Tensor result = output.shape() == shape ? output : output.reshape(shape);
  tell_tracer(op, {&result}, {&q, &k, &v, &mask}, args.is_causal, args.scale, options.dropout_p);
  return result;
}

}  // namespace aorta
