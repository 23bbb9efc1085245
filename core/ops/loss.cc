#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace aorta::kernel {

constinit Op<LossKernel, void (*)(Tensor&, const Tensor&, const Tensor&, const PointwiseLoss&)>
    pointwise_loss_op{"pointwise_loss"};
constinit Op<LossBackwardKernel, NoGradient> pointwise_loss_backward_op{"pointwise_loss_backward"};
constinit Op<LineProductsKernel, void (*)(Tensor&, const Tensor&, const Tensor&, int)>
    line_products_op{"line_products"};
constinit Op<LineProductsKernel, NoGradient> line_products_backward_op{"line_products_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// The elements of `x`, which broadcast, in the order of the dense `like`, outside the graph.
Tensor in_order_of(const Tensor& like, const Tensor& x) {
  bool same = x.dtype() == like.dtype() && x.shape() == like.shape();
  for (int d = 0; same && d < like.dim(); ++d)
    same = like.shape()[d] == 1 || x.strides()[d] == like.strides()[d];
  if (same) return x.detach();
  const Tensor result =
      empty_strided(like.shape(), like.strides(), {.dtype = like.dtype(), .device = like.device()});
  result.copy_(x.detach());
  return result;
}

// The operands of a kernel: alive as long as it runs.
struct PreparedLoss {
  Tensor input, target, weight, pos_weight, gradient;
  LossArgs args;
};

// A tensor that broadcasts to the input, or one number.
Tensor broadcast_to(const Tensor& input, const Tensor& x, int64_t& step) {
  if (!x.defined()) return {};
  step = x.numel() == 1 ? 0 : 1;
  return step == 0 ? x.detach().to(input.dtype()) : in_order_of(input, x);
}

const void* data_of(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

PreparedLoss prepare(const Tensor& input, const Tensor& target, const PointwiseLoss& loss,
                     const Tensor& gradient) {
  PreparedLoss p{};
  p.input = dense(input);
  p.target = in_order_of(p.input, target);
  LossArgs& args = p.args;
  p.weight = broadcast_to(p.input, loss.weight, args.weight_step);
  p.pos_weight = broadcast_to(p.input, loss.pos_weight, args.pos_weight_step);
  p.gradient = broadcast_to(p.input, gradient, args.gradient_step);
  args.kind = loss.kind;
  args.parameter = loss.parameter;
  args.reduced = loss.reduced;
  args.scale = loss.scale;
  args.dtype = input.dtype();
  args.count = input.numel();
  args.input = p.input.data();
  args.target = p.target.data();
  args.weight = data_of(p.weight);
  args.pos_weight = data_of(p.pos_weight);
  args.gradient = data_of(p.gradient);
  return p;
}

// Both in one floating dtype; on the f32 list of autocast.
struct Pair {
  Tensor input, target;
};

Pair promote(const char* op, const Tensor& input, const Tensor& target) {
  check_defined(op, {{"input", input}, {"target", target}});
  Pair pair{autocast_to_f32(input), autocast_to_f32(target)};
  const Operand operands[] = {pair.input, pair.target};
  const DType dtype = result_type(operands);
  check(is_floating(dtype), op, "dtype must be floating", input.dtype());
  check(input.device() == target.device(), op, "tensors must be on one device", input.device(),
        " and ", target.device());
  return {pair.input.to(dtype), pair.target.to(dtype)};
}

Pair broadcast(const char* op, const Tensor& input, const Tensor& target) {
  const CalledOp called(op);
  const Pair pair = promote(op, input, target);
  if (input.shape() == target.shape()) return pair;
  const Shape shape = broadcast_shapes(op, input.shape(), target.shape());
  return {pair.input.expand(shape), pair.target.expand(shape)};
}

// (N, 1) and (N) give the losses of N x N pairs: hardly ever what is meant, and nothing fails. Said
// once a program.
Pair broadcast_elements(const char* op, const Tensor& input, const Tensor& target) {
  const Pair pair = broadcast(op, input, target);
  static std::atomic_flag said;
  if (input.shape() != target.shape() && !said.test_and_set()) {
    std::fprintf(
        stderr,
        "aorta: %s: input %s and target %s differ and broadcast to %s; reshape one of them "
        "if its elements belong to the other's\n",
        op, to_string(input.shape()).c_str(), to_string(target.shape()).c_str(),
        to_string(pair.input.shape()).c_str());
  }
  return pair;
}

Pair same_shape(const char* op, const Tensor& input, const Tensor& target) {
  check_defined(op, {{"input", input}, {"target", target}});
  check(input.shape() == target.shape(), op, "the target must have the input's shape",
        target.shape(), " for ", input.shape());
  return promote(op, input, target);
}

double scale_of(const char* op, const Tensor& input, Reduction reduction, bool has_batch) {
  check(has_batch || reduction != Reduction::batchmean, op, "reduction must be none, mean or sum",
        "batchmean");
  switch (reduction) {
    case Reduction::mean:
      return 1 / static_cast<double>(input.numel());
    case Reduction::batchmean:
      return input.dim() == 0 ? 1 : 1 / static_cast<double>(input.shape()[0]);
    default:
      return 1;
  }
}

Tensor run(const Pair& pair, Reduction reduction, PointwiseLoss loss) {
  const Tensor& input = pair.input;
  const CalledOp called(loss.name);
  const ProfilerRange range(loss.name, {&input, &pair.target});
  loss.reduced = reduction != Reduction::none;
  loss.scale = scale_of(loss.name, input, reduction, loss.kind >= LossKind::kl_div);
  PreparedLoss p = prepare(input, pair.target, loss, {});
  const TensorOptions options{.dtype = input.dtype(), .device = input.device()};
  Tensor output = loss.reduced ? empty({}, options)
                               : empty_strided(p.input.shape(), p.input.strides(), options);
  p.args.output = output.data();
  if (input.numel() == 0) {
    output.fill_(0.0 * loss.scale);
  } else {
    const int64_t bad = pointwise_loss_op.kernel(input.device())(p.args);
    if (bad >= 0) {
      const double x = flat_memory(p.input).select(0, bad).item<double>();
      check(x >= 0 && x <= 1, loss.name, "input must lie in [0, 1]", x);
      check(false, loss.name, "target must lie in [0, 1]",
            flat_memory(p.target).select(0, bad).item<double>());
    }
  }
  if (needs_gradient(input, pair.target))
    pointwise_loss_op.gradient()(output, input, pair.target, loss);
  tell_tracer(loss.name, {&output}, {&input, &pair.target}, reduction, loss);
  return output;
}

// With a weight they are composed: it may require a gradient, and the mean may be over its sum.
Tensor run_weighted(const Tensor& input, const Tensor& target, Reduction reduction,
                    const PointwiseLoss& loss, const Tensor& given) {
  const char* const op = loss.name;
  const Pair pair = broadcast_elements(op, input, target);
  if (!given.defined()) return run(pair, reduction, loss);
  const CalledOp called(op);
  check(given.shape() == input.shape(), op, "weight must have the input's shape", given.shape(),
        " for ", input.shape());
  check(given.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", given.device());
  scale_of(op, input, reduction, false);
  const Tensor weight = autocast_to_f32(given);
  const Operand operands[] = {pair.input, weight};
  const DType dtype = result_type(operands), wide = compute_dtype(dtype);
  check(is_floating(dtype), op, "dtype must be floating", dtype);
  const Pair operand{pair.input.to(wide), pair.target.to(wide)};
  const Tensor factor = weight.to(wide), losses = run(operand, Reduction::none, loss) * factor;
  if (reduction == Reduction::none) return losses.to(dtype);
  const bool is_by_number = loss.kind == LossKind::huber && reduction == Reduction::mean;
  if (is_by_number) return mean(losses).to(dtype);
  return (reduction == Reduction::sum ? sum(losses) : sum(losses) / sum(factor)).to(dtype);
}

Tensor weights_for(const char* op, const char* rule, const Tensor& weight, const Tensor& input) {
  check_defined(op, {{"input", input}});
  if (!weight.defined()) return {};
  check(!needs_gradient(weight), op, "weights take no gradient", weight.shape(),
        " that require one");
  check(weight.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", weight.device());
  const bool fits = broadcast_shapes(op, weight.shape(), input.shape()) == input.shape();
  check(fits, op, rule, weight.shape(), " for ", input.shape());
  return weight.detach();
}

}  // namespace

Tensor kernel::pointwise_loss_backward(const Tensor& gradient, const Tensor& input,
                                       const Tensor& target, const PointwiseLoss& loss) {
  const CalledOp called(pointwise_loss_backward_op.name());
  const ProfilerRange range(pointwise_loss_backward_op.name(), {&gradient, &input, &target});
  PreparedLoss p = prepare(input, target, loss, gradient);
  Tensor output = empty_strided(p.input.shape(), p.input.strides(),
                                {.dtype = input.dtype(), .device = input.device()});
  p.args.output = output.data();
  if (input.numel() > 0) pointwise_loss_backward_op.kernel(input.device())(p.args);
  return output;
}

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction,
                const Tensor& weight) {
  const PointwiseLoss loss{LossKind::mse, "mse_loss"};
  return run_weighted(input, target, reduction, loss, weight);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction,
               const Tensor& weight) {
  const PointwiseLoss loss{LossKind::l1, "l1_loss"};
  return run_weighted(input, target, reduction, loss, weight);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, Reduction reduction, double beta) {
  const char* const op = "smooth_l1_loss";
  check(beta >= 0, op, "beta can't be negative", beta);
  return run(broadcast_elements(op, input, target), reduction,
             {beta > 0 ? LossKind::smooth_l1 : LossKind::l1, op, beta});
}

Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction, double delta,
                  const Tensor& weight) {
  check(delta > 0, "huber_loss", "delta must be positive", delta);
  const PointwiseLoss loss{LossKind::huber, "huber_loss", delta};
  return run_weighted(input, target, reduction, loss, weight);
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, bool log_target) {
  const char* const op = "kl_div";
  const PointwiseLoss loss{log_target ? LossKind::kl_log : LossKind::kl_div, op};
  const Pair pair = broadcast(op, input, target);
  if (reduction != Reduction::batchmean || input.shape() == pair.input.shape())
    return run(pair, reduction, loss);
  // The batch is the input's, however many rows it has been made.
  const Tensor all = run(pair, Reduction::sum, loss);
  return input.dim() == 0 ? all : all / input.shape()[0];
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BceOptions& options) {
  const char* const op = "binary_cross_entropy";
  PointwiseLoss loss{LossKind::bce, op};
  loss.weight = weights_for(op, "weight must broadcast to the input", options.weight, input);
  return run(same_shape(op, input, target), options.reduction, loss);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BceWithLogitsOptions& options) {
  const char* const op = "binary_cross_entropy_with_logits";
  PointwiseLoss loss{LossKind::bce_with_logits, op};
  loss.weight = weights_for(op, "weight must broadcast to the input", options.weight, input);
  loss.pos_weight =
      weights_for(op, "pos_weight must broadcast to the input", options.pos_weight, input);
  return run(same_shape(op, input, target), options.reduction, loss);
}

Tensor kernel::line_products(const Tensor& x, const Tensor& y, int dim) {
  const CalledOp called(line_products_op.name());
  const ProfilerRange range(line_products_op.name(), {&x, &y});
  const Tensor a = x.detach().contiguous(), b = y.detach().contiguous();
  Shape shape = x.shape();
  if (x.dim() > 0) shape.erase(dim);
  shape.insert(0, 3);
  Tensor output = empty(shape, {.dtype = DType::f64, .device = x.device()});
  if (x.numel() == 0) {
    output.zero_();
  } else {
    line_products_op.kernel(x.device())({.x = a.data(),
                                         .y = b.data(),
                                         .output = output.data<double>(),
                                         .dtype = x.dtype(),
                                         .lines = lines_of(a, dim)});
  }
  if (needs_gradient(x, y)) line_products_op.gradient()(output, x, y, dim);
  tell_tracer(line_products_op.name(), {&output}, {&x, &y}, dim);
  return output;
}

std::array<Tensor, 2> kernel::line_products_backward(const Tensor& gradient, const Tensor& x,
                                                     const Tensor& y, int dim,
                                                     std::array<bool, 2> wanted) {
  const CalledOp called(line_products_backward_op.name());
  const ProfilerRange range(line_products_backward_op.name(), {&gradient, &x, &y});
  const Tensor a = x.detach().contiguous(), b = y.detach().contiguous();
  const Tensor sums = gradient.detach().contiguous();
  std::array<Tensor, 2> results;
  for (size_t i = 0; i < 2; ++i) {
    if (wanted[i]) results[i] = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  }
  if (x.numel() == 0) return results;
  line_products_backward_op.kernel(x.device())(
      {.x = a.data(),
       .y = b.data(),
       .output = nullptr,
       .dtype = x.dtype(),
       .lines = lines_of(a, dim),
       .gradient = sums.data<double>(),
       .x_gradient = wanted[0] ? results[0].data() : nullptr,
       .y_gradient = wanted[1] ? results[1].data() : nullptr});
  return results;
}

namespace {

// The root of a sum of squares, at least eps; where that counts, and at 0, without a gradient.
Tensor norm_of(const Tensor& squares, double eps) {
  const Tensor is_zero = eq(squares, 0);
  return clamp_min(where(is_zero, 0, sqrt(where(is_zero, 1, squares))), eps);
}

}  // namespace

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const CalledOp called("cosine_similarity");
  const char* const op = "cosine_similarity";
  check_defined(op, {{"x1", x1}, {"x2", x2}});
  const Pair pair = broadcast(op, x1, x2);
  check(eps >= 0, op, "eps can't be negative", eps);
  check_fits(op, eps, pair.input.dtype());
  const int at = wrap_dim(op, dim, pair.input.dim());
  const Tensor sums = line_products(pair.input, pair.target, at);
  const Tensor norms = norm_of(sums.select(0, 1), eps) * norm_of(sums.select(0, 2), eps);
  return (sums.select(0, 0) / norms).to(pair.input.dtype());
}

namespace {

// |x|_p along `dim`, 0 where there is nothing.
Tensor lengths(const Tensor& x, double p, int64_t dim) {
  return x.size(dim) > 0 ? norm(x, p, dim) : sum(x, dim);
}

}  // namespace

Tensor pdist(const Tensor& given, double p) {
  const CalledOp called("pdist");
  check_defined("pdist", {{"input", given}});
  const Tensor input = autocast_to_f32(given);
  check_floating("pdist", input.dtype());
  check(input.dim() == 2, "pdist", "input must be a matrix", input.shape());
  check(p >= 0, "pdist", "p can't be negative", p);
  const Tensor x = input.to(compute_dtype(input.dtype()));
  const Tensor pairs = combinations(arange(x.size(0), {.device = x.device()}));
  const Tensor apart =
      index_select(x, 0, pairs.select(1, 0)) - index_select(x, 0, pairs.select(1, 1));
  return lengths(apart, p, 1).to(input.dtype());
}

// Rows apart from the middle of y lose less to rounding. Where rows are equal the gradient is 0.
static Tensor distances_by_product(const Tensor& x, const Tensor& y) {
  const Tensor center = mean(y.detach(), -2, true), a = x - center, b = y - center;
  const Tensor norms = sum(square(a), -1, true) + sum(square(b), -1).unsqueeze(-2);
  const Tensor squares = norms - 2 * matmul(a, b.transpose(-2, -1));
  const Tensor apart = gt(squares.detach(), 0);
  return where(apart, sqrt(where(apart, squares, 1)), 0);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, const Text& compute_mode) {
  const CalledOp called("cdist");
  check_defined("cdist", {{"x1", x1}, {"x2", x2}});
  check(x1.dim() >= 2 && x2.dim() >= 2, "cdist", "x1 and x2 must be (*, P, M) and (*, R, M)",
        x1.shape(), " and ", x2.shape());
  check(x1.size(-1) == x2.size(-1), "cdist", "rows must be of one size", x1.shape(), " and ",
        x2.shape());
  check(p >= 0, "cdist", "p can't be negative", p);
  const Tensor rows = autocast_to_f32(x1), others = autocast_to_f32(x2);
  const DType dtype = promote(rows.dtype(), others.dtype()), wide = compute_dtype(dtype);
  check_floating("cdist", dtype);
  const bool always = compute_mode == "use_mm_for_euclid_dist";
  const bool never = compute_mode == "donot_use_mm_for_euclid_dist";
  check(always || never || compute_mode == "use_mm_for_euclid_dist_if_necessary", "cdist",
        "compute_mode must be use_mm_for_euclid_dist, donot_use_mm_for_euclid_dist or "
        "use_mm_for_euclid_dist_if_necessary",
        compute_mode);
  constexpr int64_t kFewRows = 25;
  const bool many = std::max(rows.size(-2), others.size(-2)) > kFewRows && rows.size(-1) > 0;
  if (p == 2 && !never && (always || many) && others.size(-2) > 0)
    return distances_by_product(rows.to(wide), others.to(wide)).to(dtype);
  const Tensor apart = sub(rows.to(wide).unsqueeze(-2), others.to(wide).unsqueeze(-3));
  return lengths(apart, p, -1).to(dtype);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, Reduction reduction) {
  const CalledOp called("cosine_embedding_loss");
  check_defined("cosine_embedding_loss",
                {{"input1", input1}, {"input2", input2}, {"target", target}});
  const char* const op = "cosine_embedding_loss";
  const int n = target.dim();
  const bool fits = n <= 1 && input1.dim() == n + 1 && input2.dim() == n + 1;
  check(fits, op, "inputs must be (N, D) with target (N), or (D) with target ()", input1.shape(),
        ", ", input2.shape(), " and ", target.shape());
  const Pair pair = broadcast(op, input1, input2);
  Shape batch = pair.input.shape();
  batch.erase(n);
  check(target.shape() == batch, op, "a target for each input", target.shape(), " for ",
        pair.input.shape());
  scale_of(op, target, reduction, false);
  const Tensor sums = line_products(pair.input, pair.target, n);
  constexpr double eps = 1e-12;  // PyTorch's
  const Tensor squares = (sums.select(0, 1) + eps) * (sums.select(0, 2) + eps);
  const Tensor cosine = sums.select(0, 0) / sqrt(squares);
  const Tensor apart = clamp_min(cosine - margin, 0);
  const Tensor losses = where(eq(target, 1), 1 - cosine, where(eq(target, -1), apart, 0));
  const Tensor result = reduction == Reduction::none   ? losses
                        : reduction == Reduction::mean ? mean(losses)
                                                       : sum(losses);
  return result.to(pair.input.dtype());
}

}  // namespace aorta
