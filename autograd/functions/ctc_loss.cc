#include <aorta/core/ops/ctc_loss.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>

#include <limits>

namespace aorta::autograd {
namespace {

// In place of -infinity, of which differences are NaN.
constexpr double kNever = -1e30;

Tensor log_add(const std::vector<Tensor>& terms) {
  const Tensor all = stack(terms);
  const Tensor largest = amax(all.detach(), {0});
  return largest + log(sum(exp(all - largest), {0}));
}

// The gradient of ctc_loss by log_probs in differentiable ops: alpha and beta as in
// body::CtcSample, rows (N, 2 S + 1) of which a step has one.
Tensor composed(const Tensor& gradient, const Tensor& log_probs, const CtcTargets& t) {
  const DType dtype = gradient.dtype();
  const Tensor x = log_probs.to(dtype);
  if (x.numel() == 0) return x * 0;
  const int64_t steps = x.size(0), batch = x.size(1), width = 2 * t.targets.size(1) + 1;
  const TensorOptions whole{.dtype = DType::i64, .device = x.device()};
  // Classes stand at the odd states.
  const Tensor classes = stack({full_like(t.targets, t.blank), t.targets}, 2).flatten(1);
  const Tensor labels = pad(classes, {0, 1}, PadMode::constant, t.blank);
  const Tensor state = arange(width, whole), last = (t.target_lengths * 2).unsqueeze(1);
  const Tensor there = le(state, last);  // (N, width)
  // State s of the result is state s - by of the row.
  const auto moved = [width](const Tensor& row, int64_t by, const Scalar& fill = kNever) {
    return pad(row, {2, 2}, PadMode::constant, fill).narrow(1, 2 - by, width);
  };
  const Tensor skips = logical_and(ge(state, 2), ne(labels, moved(labels, 2, t.blank)));
  const Tensor index = labels.unsqueeze(0).expand({steps, batch, width});
  // A state that isn't there has the blank's label and no path.
  const Tensor own = where(there, clamp_min(gather(x, 2, index), kNever), kNever);
  std::vector<Tensor> alpha, beta(static_cast<size_t>(steps));
  for (int64_t k = 0; k < steps; ++k) {
    const Tensor before = k == 0 ? where(lt(state, 2), zeros_like(own.select(0, 0)), kNever)
                                 : log_add({alpha.back(), moved(alpha.back(), 1),
                                            where(skips, moved(alpha.back(), 2), kNever)});
    alpha.push_back(before + own.select(0, k));
  }
  const Tensor ends = where(logical_and(ge(state, last - 1), there),
                            zeros({batch, width}, {.dtype = dtype, .device = x.device()}), kNever);
  const Tensor is_skipped = moved(skips, -2, false);
  Tensor behind = full_like(ends, kNever);
  for (int64_t k = steps; k-- > 0;) {
    const Tensor after =
        log_add({behind, moved(behind, -1), where(is_skipped, moved(behind, -2), kNever)});
    const Tensor is_last = eq(t.input_lengths - 1, k).unsqueeze(1);
    behind = where(is_last, ends, after) + own.select(0, k);
    beta[static_cast<size_t>(k)] = behind;
  }
  const Tensor paths = stack(alpha) + stack(beta) - own;  // (T, N, width)
  const Tensor total = logsumexp(paths.select(0, 0), {1});
  const Tensor used = lt(arange(steps, whole).unsqueeze(1), t.input_lengths).unsqueeze(2);
  const Tensor shares = where(used, exp(paths - total.unsqueeze(1)), 0);
  const Tensor of_classes = scatter_add(zeros_like(x), 2, index, shares);
  Tensor result = (where(used, exp(x), 0) - of_classes) * gradient.unsqueeze(1);
  // Where there is no path, all that counts is NaN, or 0 by zero_infinity.
  const double without = t.zero_infinity ? 0 : std::numeric_limits<double>::quiet_NaN();
  return where(logical_and(used, lt(total, kNever / 2).unsqueeze(1)), without, result);
}

void ctc_loss_gradient(Tensor& losses, const Tensor& log_probs, const CtcTargets& given,
                       const Tensor& alpha) {
  CtcTargets plain = given;
  plain.targets = plain.input_lengths = plain.target_lengths = Tensor();
  record("ctc_loss", losses, {&log_probs},
         [plain, x = Saved(log_probs, 0), targets = Saved(given.targets, 1),
          input_lengths = Saved(given.input_lengths, 2),
          target_lengths = Saved(given.target_lengths, 3), rows = Saved(alpha, 4),
          y = Saved::output(losses)](Gradients& g) {
           CtcTargets t = plain;
           t.targets = g.saved(targets);
           t.input_lengths = g.saved(input_lengths);
           t.target_lengths = g.saved(target_lengths);
           g.input() = grad_enabled() ? composed(g.output(), g.saved(x), t)
                                      : ctc_loss_backward(g.output(), g.saved(x).detach(), t,
                                                          g.saved(rows), g.saved(y).detach());
         });
}

}  // namespace

void register_ctc_loss() { ctc_loss_op.set_gradient(ctc_loss_gradient); }

}  // namespace aorta::autograd
