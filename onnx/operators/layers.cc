#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <cmath>
#include <limits>

// Attention, and what draws random numbers: they come from the default generator, whatever seed an
// attribute names, for another program's numbers are another generator's.
namespace aorta::onnx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

Run dropped(const Node& node) {
  const double given = node.number("ratio", 0.5);
  node.integer("seed", 0);
  const bool mask = node.outputs() > 1;
  return [=](const Inputs& x) -> Tensors {
    const double ratio = x.has(1) ? x[1].item<double>() : given;
    const bool training = x.training() || (x.has(2) && x[2].item<bool>());
    if (!mask) return {dropout(x[0], ratio, training)};
    const Tensor kept = dropout(ones_like(x[0]), ratio, training).detach();
    return {training ? mul(x[0], kept) : x[0], ne(kept, 0)};
  };
}

DType dtype_or_f32(const Node& node) { return node.dtype("dtype").value_or(f32); }

Shape shape_attribute(const Node& node) {
  const std::vector<int64_t> sizes = node.integers("shape");
  node.check(node.has("shape") && sizes.size() <= static_cast<size_t>(kMaxDims),
             "attribute shape must be given, of at most 12 dimensions", sizes.size());
  for (const int64_t size : sizes) node.check(size >= 0, "sizes must not be negative", size);
  return Shape(sizes);
}

// Two numbers that say which: low and high, or mean and deviation.
template <Tensor (*draw)(const Tensor&, double, double, Generator*), bool like>
Run random(const Node& node, const char* first, double a, const char* second, double b) {
  node.number("seed", 0);
  const std::optional<DType> dtype = like ? node.dtype("dtype") : dtype_or_f32(node);
  const Shape shape = like ? Shape() : shape_attribute(node);
  a = node.number(first, a);
  b = node.number(second, b);
  return [=](const Inputs& x) -> Tensors {
    if (like) return {draw(zeros_like(x[0], {.dtype = dtype}), a, b, nullptr)};
    return {draw(zeros(shape, {.dtype = *dtype, .device = x.device()}), a, b, nullptr)};
  };
}

Run bernoulli_of(const Node& node) {
  node.number("seed", 0);
  const std::optional<DType> dtype = node.dtype("dtype");
  return [=](const Inputs& x) -> Tensors {
    return {bernoulli(x[0]).to(dtype.value_or(x[0].dtype()))};
  };
}

// ---- Attention. 3-d operands hold their heads side by side; fewer key than query heads are
// shared.

struct AttentionAttributes {
  int64_t query_heads, key_heads, left, right, kept_scores;
  bool causal, has_scale, precise;
  double scale, softcap;

  explicit AttentionAttributes(const Node& node)
      : query_heads(node.integer("q_num_heads", 0)),
        key_heads(node.integer("kv_num_heads", 0)),
        left(node.integer("left_window_size", -1)),
        right(node.integer("right_window_size", -1)),
        kept_scores(node.integer("qk_matmul_output_mode", 0)),
        causal(node.flag("is_causal", false)),
        has_scale(node.has("scale")),
        scale(node.number("scale", 1)),
        softcap(node.number("softcap", 0)) {
    node.check(kept_scores >= 0 && kept_scores <= 3,
               "attribute qk_matmul_output_mode must be 0 to 3", kept_scores);
    node.check(softcap >= 0, "attribute softcap must not be negative", softcap);
    // Softmax of half types is f32's, and of others their own: what is asked for, or more.
    const DType precision = node.dtype("softmax_precision").value_or(f32);
    node.check(is_floating(precision), "attribute softmax_precision must be a floating dtype",
               precision);
    precise = precision == f64;
  }
};

Tensor heads_of(const Tensor& x, int64_t heads) {
  if (x.dim() == 4) return x;
  check(x.dim() == 3 && heads > 0 && x.size(2) % heads == 0, "Attention",
        "3-d operands must have whole heads side by side", x.shape(), " of ", heads);
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

Tensor shared(const Tensor& x, int64_t heads) {
  check(x.size(1) > 0 && heads % x.size(1) == 0, "Attention",
        "query heads must be a multiple of the key heads", heads, " and ", x.size(1));
  return heads == x.size(1) ? x : repeat_interleave(x, heads / x.size(1), 1);
}

// Which keys each query sees by its place, of queries that come after `before` keys - a number, or
// one for each sample; undefined where all are seen.
Tensor seen_by_place(const AttentionAttributes& o, const Tensor& before, int64_t queries,
                     int64_t keys) {
  if (!o.causal && o.left < 0 && o.right < 0) return {};
  const TensorOptions numbers{.dtype = i64, .device = before.device()};
  const Tensor ahead =
      sub(arange(keys, numbers), add(arange(queries, numbers).unsqueeze(1), before));
  Tensor seen = o.causal ? le(ahead, 0) : le(ahead, keys);
  if (o.left >= 0) seen = logical_and(seen, ge(ahead, -o.left));
  if (o.right >= 0) seen = logical_and(seen, le(ahead, o.right));
  return seen;
}

// A mask of fewer keys hides the others.
Tensor full_mask(const Tensor& mask, int64_t keys) {
  const int64_t rest = keys - mask.size(-1);
  if (rest <= 0) return mask;
  if (mask.dtype() != boolean) return pad(mask, {0, rest}, PadMode::constant, kMinusInfinity);
  return pad(mask.to(u8), {0, rest}).to(boolean);
}

// Both masks in one: boolean, or what is added to the scores.
Tensor both(const Tensor& seen, const Tensor& mask) {
  if (!seen.defined() || !mask.defined()) return seen.defined() ? seen : mask;
  return mask.dtype() == boolean ? logical_and(seen, mask) : where(seen, mask, kMinusInfinity);
}

struct Scores {
  Tensor kept, weights;
};

// The scores where a file wants them, or has a cap of them.
Scores scores_of(const AttentionAttributes& o, const Tensor& q, const Tensor& k, const Tensor& mask,
                 double scale) {
  const double root = std::sqrt(scale);
  Tensor scores = matmul(mul(q, root), mul(k, root).transpose(-2, -1));
  Tensor added;
  if (mask.defined())
    added = mask.dtype() == boolean
                ? where(mask, zeros({}, {.dtype = q.dtype(), .device = q.device()}), kMinusInfinity)
                : mask;
  Tensor kept = scores;
  if (o.softcap > 0) scores = mul(tanh(div(scores, o.softcap)), o.softcap);
  if (o.kept_scores == 1) kept = scores;
  if (added.defined()) scores = add(scores, added);
  if (o.kept_scores == 2) kept = scores;
  // A query that sees no key has no weights.
  const Tensor hidden = eq(amax(scores, {-1}, true), kMinusInfinity);
  Tensor weights = masked_fill(scores, hidden, 0);
  weights = softmax(o.precise ? weights.to(f64) : weights, -1).to(q.dtype());
  weights = masked_fill(weights, hidden, 0);
  if (o.kept_scores == 3) kept = weights;
  return {kept, weights};
}

Run attention(const Node& node) {
  const AttentionAttributes o(node);
  const bool wants_scores = node.has_output(3);
  return [=](const Inputs& x) -> Tensors {
    const Tensor q = heads_of(x[0], o.query_heads);
    Tensor k = heads_of(x[1], o.key_heads), v = heads_of(x[2], o.key_heads);
    Tensor before = zeros({}, {.dtype = i64, .device = q.device()});
    if (x.has(4)) {
      before = full({}, x[4].size(2), {.dtype = i64, .device = q.device()});
      k = cat({x[4], k}, 2);
      v = cat({x[5], v}, 2);
    }
    const int64_t queries = q.size(2), keys = k.size(2);
    Tensor lengths;
    if (x.has(6)) {
      lengths = x[6].to(i64).reshape({-1, 1, 1, 1});
      before = sub(lengths, queries);
    }
    Tensor seen = seen_by_place(o, before, queries, keys);
    if (lengths.defined())
      seen = both(lt(arange(keys, {.dtype = i64, .device = q.device()}), lengths), seen);
    const Tensor mask = both(seen, x.has(3) ? full_mask(x[3], keys) : Tensor());
    const double scale = o.has_scale ? o.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
    const Tensor shared_k = shared(k, q.size(1)), shared_v = shared(v, q.size(1));
    Tensor y, kept;
    if (o.softcap > 0 || wants_scores || o.precise) {
      const Scores scores = scores_of(o, q, shared_k, mask, scale);
      y = matmul(scores.weights, shared_v);
      kept = scores.kept;
    } else {
      y = scaled_dot_product_attention(q, shared_k, shared_v, {.attn_mask = mask, .scale = scale});
    }
    if (x[0].dim() == 3) y = y.transpose(1, 2).flatten(2);
    return {y, k, v, kept};
  };
}

}  // namespace

void add_layers(Operators& table) {
  table["Attention"] = {attention, 3, 7, 4, {3, 4, 5}};
  table["Bernoulli"] = {bernoulli_of};
  table["Dropout"] = {dropped, 1, 3, 2, {1}};
  table["RandomNormal"] = {
      [](const Node& node) { return random<normal_, false>(node, "mean", 0, "scale", 1); }, 0, 0};
  table["RandomNormalLike"] = {
      [](const Node& node) { return random<normal_, true>(node, "mean", 0, "scale", 1); }};
  table["RandomUniform"] = {
      [](const Node& node) { return random<uniform_, false>(node, "low", 0, "high", 1); }, 0, 0};
  table["RandomUniformLike"] = {
      [](const Node& node) { return random<uniform_, true>(node, "low", 0, "high", 1); }};
}

}  // namespace aorta::onnx
