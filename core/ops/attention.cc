#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::kernel {

constinit Op<NoKernel, void (*)(Tensor&, const AttentionArgs&, const Tensor&)> attention_op{
    "scaled_dot_product_attention"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Products of a block: they stay in the cache.
constexpr int64_t kBlock = int64_t{1} << 19;

int64_t rows_of_block(const AttentionArgs& args) {
  const int64_t rows = args.query.size(-2);
  const int64_t row = args.query.numel() / (rows * args.query.size(-1)) * args.key.size(-2);
  return std::clamp<int64_t>(kBlock / row, 1, rows);
}

Shape batch_of(const Tensor& x) {
  Shape shape = x.shape();
  shape.resize(x.dim() - 2);
  return shape;
}

Tensor with_batch(const Tensor& x, const Shape& batch) {
  Shape shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  return x.expand(shape);
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

// Keys that queries before `end` can see.
int64_t keys_before(const AttentionArgs& args, int64_t end) {
  const int64_t keys = args.key.size(-2);
  return args.is_causal ? std::min(keys, end) : keys;
}

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }

// All at once, of differentiable ops.
Tensor composed(const AttentionArgs& args, double dropout_p) {
  Tensor weights = attention_scores(args, 0, args.query.size(-2));
  const int64_t keys = weights.size(-1);
  if (keys > 0) weights = attention_weights(weights, logsumexp(weights, -1, true));
  return matmul(dropout(weights, dropout_p), args.value.narrow(-2, 0, keys));
}

// Block by block; fills log_sum.
Tensor by_blocks(const AttentionArgs& args, const Tensor& log_sum) {
  const int64_t rows = args.query.size(-2), step = rows_of_block(args);
  Shape shape = args.query.shape();
  shape.back() = args.value.size(-1);
  const Tensor output = empty(shape, {.dtype = args.query.dtype(), .device = args.query.device()});
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    const Tensor scores = attention_scores(args, first, count);
    const Tensor sum = logsumexp(scores, -1, true);
    log_sum.narrow(-2, first, count).copy_(sum);
    output.narrow(-2, first, count)
        .copy_(matmul(attention_weights(scores, sum),
                      args.value.narrow(-2, 0, keys_before(args, first + count))));
  }
  return output;
}

AttentionArgs detached(const AttentionArgs& args) {
  return {args.query.detach(), args.key.detach(),
          args.value.detach(), args.mask.defined() ? args.mask.detach() : Tensor(),
          args.is_causal,      args.scale};
}

}  // namespace

Tensor kernel::attention_scores(const AttentionArgs& args, int64_t first, int64_t count) {
  const int64_t keys = keys_before(args, first + count);
  const Tensor query = args.query.narrow(-2, first, count) * args.scale;
  Tensor scores = matmul(query, transposed(args.key.narrow(-2, 0, keys)));
  if (args.mask.defined()) {
    const Tensor mask = args.mask.dim() > 1 && args.mask.size(-2) > 1
                            ? args.mask.narrow(-2, first, count)
                            : args.mask;
    scores = mask.dtype() == DType::boolean ? where(mask, scores, -kInfinity) : scores + mask;
  }
  if (args.is_causal) {
    const TensorOptions options{.dtype = DType::i64, .device = query.device()};
    const Tensor seen =
        ge(arange(first, first + count, options).unsqueeze(1), arange(keys, options));
    scores = where(seen, scores, -kInfinity);
  }
  return scores;
}

Tensor kernel::attention_weights(const Tensor& scores, const Tensor& log_sum) {
  return exp(scores - where(eq(log_sum, -kInfinity), 0, log_sum));
}

AttentionGradients kernel::attention_backward(const Tensor& gradient, const AttentionArgs& given,
                                              const Tensor& output, const Tensor& log_sum) {
  const AttentionArgs args = detached(given);
  const Tensor g = gradient.detach(), sums = log_sum.detach();
  const Tensor products = sum(g * output.detach(), -1, true);
  const int64_t rows = args.query.size(-2), step = rows_of_block(args);
  const TensorOptions options{.dtype = g.dtype(), .device = g.device()};
  const AttentionGradients result{empty(args.query.shape(), options),
                                  zeros(args.key.shape(), options),
                                  zeros(args.value.shape(), options)};
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first), keys = keys_before(args, first + count);
    const auto block = [&](const Tensor& x) { return x.narrow(-2, first, count); };
    const auto seen = [&](const Tensor& x) { return x.narrow(-2, 0, keys); };
    const Tensor weights = attention_weights(attention_scores(args, first, count), block(sums));
    add_(seen(result.value), matmul(transposed(weights), block(g)));
    const Tensor slopes = matmul(block(g), transposed(seen(args.value)));
    sub_(slopes, block(products));
    mul_(slopes, weights);
    mul_(slopes, args.scale);
    block(result.query).copy_(matmul(slopes, seen(args.key)));
    add_(seen(result.key), matmul(transposed(slopes), block(args.query)));
  }
  return result;
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const char* const op = attention_op.name();
  const Tensor q = autocast_to_half(query), k = autocast_to_half(key), v = autocast_to_half(value);
  check_operands(op, q, k, v, options);
  Tensor mask = options.attn_mask;
  if (mask.defined() && is_floating(mask.dtype())) mask = autocast_to_half(mask);
  const Autocast as_it_is(DType::f32);
  const ProfilerRange range(op, {&q, &k, &v});
  const Shape batch =
      broadcast_shapes(op, broadcast_shapes(op, batch_of(q), batch_of(k)), batch_of(v));
  const DType compute = is_half(q.dtype()) ? DType::f32 : q.dtype();
  AttentionArgs args{with_batch(q.to(compute), batch),
                     with_batch(k.to(compute), batch),
                     with_batch(v.to(compute), batch),
                     {},
                     options.is_causal,
                     1};
  Shape scores = args.query.shape();
  scores.back() = k.size(-2);
  if (mask.defined()) {
    check_mask(op, mask, scores, q);
    args.mask = mask.dtype() == DType::boolean ? mask : mask.to(compute);
  }
  args.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  const bool mask_learns = args.mask.defined() && needs_gradient(args.mask);
  if (options.dropout_p > 0 || mask_learns || scores.numel() == 0 || q.size(-1) == 0)
    return composed(args, options.dropout_p).to(q.dtype());
  Shape rows = args.query.shape();
  rows.back() = 1;
  const Tensor log_sum = empty(rows, {.dtype = compute, .device = q.device()});
  Tensor output = by_blocks(detached(args), log_sum);
  if (needs_gradient(args.query, args.key, args.value))
    attention_op.gradient()(output, args, log_sum);
  return output.to(q.dtype());
}

}  // namespace aorta
