#include <aorta/core/body/ctc_loss.h>
#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/ctc_loss.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>

namespace aorta::kernel {

constinit Op<CtcKernel, CtcGradient> ctc_loss_op{"ctc_loss"};
constinit Op<CtcKernel, NoGradient> ctc_loss_backward_op{"ctc_loss_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

constexpr const char* kCtc = "ctc_loss";

bool is_integer(const Tensor& tensor) {
  return tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32;
}

std::vector<int64_t> checked_lengths(const char* what, const Tensor& lengths, int64_t batch,
                                     int64_t longest) {
  check(is_integer(lengths), kCtc, std::string(what) + " must be i64 or i32", lengths.dtype());
  check(lengths.shape() == Shape{batch}, kCtc,
        std::string(what) + " must be (N), or () for log_probs (T, C)", lengths.shape(), " for N ",
        batch);
  std::vector<int64_t> values = lengths.detach().cpu().to(DType::i64).to_vector<int64_t>();
  for (const int64_t length : values)
    check(length >= 0 && length <= longest, kCtc, std::string(what) + " must be in [0, longest]",
          length, " for ", longest);
  return values;
}

// The targets as (N, S), S the longest; what is beyond a target's end is class 0.
Tensor padded_targets(const Tensor& given, const std::vector<int64_t>& lengths, int64_t classes) {
  const int64_t batch = static_cast<int64_t>(lengths.size());
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const Tensor all = given.detach().to(DType::i64).contiguous();
  const bool joined = all.dim() == 1;
  std::vector<int64_t> places;
  int64_t begin = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = lengths[static_cast<size_t>(n)];
    if (!joined) begin = n * all.size(1);
    for (int64_t i = 0; i < longest; ++i) places.push_back(i < length ? begin + i : -1);
    begin += length;
  }
  const Tensor index = tensor(places).to(all.device());
  // At least one element to read, for targets of no class.
  const Tensor flat = all.numel() > 0 ? all.reshape({-1})
                                      : zeros({1}, {.dtype = DType::i64, .device = all.device()});
  const Tensor padded =
      where(ge(index, 0), gather(flat, 0, clamp_min(index, 0)), 0).reshape({batch, longest});
  const CheckedIndex checked = check_values(padded, classes, false);
  if (checked.bad >= 0) {
    fail(kCtc, "targets must be in [0, C)",
         padded.reshape({-1}).select(0, checked.bad).item<int64_t>(), ", C ", classes);
  }
  return checked.inside;
}

// The operands of a kernel: alive as long as it runs.
body::CtcArgs args_of(const Tensor& log_probs, const CtcTargets& t, const Tensor& alpha,
                      const Tensor& losses) {
  body::CtcArgs args;
  args.steps = log_probs.size(0);
  args.batch = log_probs.size(1);
  args.classes = log_probs.size(2);
  args.longest = t.targets.size(1);
  args.blank = t.blank;
  args.dtype = log_probs.dtype();
  args.log_probs = log_probs.data();
  args.targets = t.targets.data<int64_t>();
  args.input_lengths = t.input_lengths.data<int64_t>();
  args.target_lengths = t.target_lengths.data<int64_t>();
  args.alpha = alpha.data();
  args.losses = losses.data();
  args.zero_infinity = t.zero_infinity;
  return args;
}

// The losses (N) in the compute dtype.
Tensor losses_of(const Tensor& log_probs, const CtcTargets& targets) {
  const DType compute = log_probs.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const TensorOptions options{.dtype = compute, .device = log_probs.device()};
  const int64_t batch = log_probs.size(1);
  const Tensor x = log_probs.detach().contiguous();
  const Tensor alpha = empty({batch, x.size(0), 2 * targets.targets.size(1) + 1}, options);
  Tensor losses = empty({batch}, options);
  if (batch > 0) ctc_loss_op.kernel(x.device())(args_of(x, targets, alpha, losses));
  if (needs_gradient(log_probs)) ctc_loss_op.gradient()(losses, log_probs, targets, alpha);
  tell_tracer(ctc_loss_op.name(), {&losses}, {&log_probs});
  return losses;
}

}  // namespace

Tensor kernel::ctc_loss_backward(const Tensor& gradient, const Tensor& log_probs,
                                 const CtcTargets& targets, const Tensor& alpha,
                                 const Tensor& losses) {
  const CalledOp called(ctc_loss_backward_op.name());
  const ProfilerRange range(ctc_loss_backward_op.name(), {&gradient, &log_probs});
  const Tensor x = log_probs.contiguous(), g = gradient.contiguous();
  const TensorOptions options{.dtype = losses.dtype(), .device = losses.device()};
  const int64_t batch = x.size(1), width = alpha.size(2);
  const Tensor beta = empty({batch, 2, width}, options);
  const Tensor chain = empty({batch, width}, {.dtype = DType::i64, .device = losses.device()});
  Tensor output = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  if (output.numel() == 0) return output;
  body::CtcArgs args = args_of(x, targets, alpha, losses);
  args.gradient = g.data();
  args.beta = beta.data();
  args.chain = chain.data<int64_t>();
  args.output = output.data();
  ctc_loss_backward_op.kernel(x.device())(args);
  return output;
}

Tensor ctc_loss(const Tensor& given, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcLossOptions& options) {
  const CalledOp called(kCtc);
  check_defined(kCtc, {{"log_probs", given},
                       {"targets", targets},
                       {"input_lengths", input_lengths},
                       {"target_lengths", target_lengths}});
  check(is_floating(given.dtype()), kCtc, "dtype must be floating", given.dtype());
  check(given.dim() == 3 || given.dim() == 2, kCtc, "log_probs must be (T, N, C) or (T, C)",
        given.shape());
  check(is_integer(targets), kCtc, "targets must be i64 or i32", targets.dtype());
  check(targets.device() == given.device(), kCtc, "tensors must be on one device", given.device(),
        " and ", targets.device());
  check(options.reduction != Reduction::batchmean, kCtc, "reduction must be none, mean or sum",
        "batchmean");
  const bool unbatched = given.dim() == 2;
  const Tensor input = autocast_to_f32(given);
  const Tensor log_probs = unbatched ? input.unsqueeze(1) : input;
  const auto batched = [&](const Tensor& lengths) {
    return unbatched && lengths.dim() == 0 ? lengths.unsqueeze(0) : lengths;
  };
  const int64_t batch = log_probs.size(1), classes = log_probs.size(2);
  check(options.blank >= 0 && options.blank < classes, kCtc, "blank must be in [0, C)",
        options.blank, ", C ", classes);
  check(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == batch), kCtc,
        "targets must be (N, S) or (sum of lengths)", targets.shape(), " for ", given.shape());
  const std::vector<int64_t> of_inputs =
      checked_lengths("input_lengths", batched(input_lengths), batch, log_probs.size(0));
  const std::vector<int64_t> of_targets =
      checked_lengths("target_lengths", batched(target_lengths), batch, targets.size(-1));
  if (targets.dim() == 1) {
    int64_t sum = 0;
    for (const int64_t length : of_targets) sum += length;
    check(sum == targets.numel(), kCtc, "target_lengths must add up to the targets", sum, " for ",
          targets.shape());
  }
  const ProfilerRange range(kCtc, {&given, &targets});
  const CtcTargets prepared{
      padded_targets(targets, of_targets, classes), tensor(of_inputs).to(given.device()),
      tensor(of_targets).to(given.device()), options.blank, options.zero_infinity};
  Tensor losses = losses_of(log_probs, prepared);
  if (options.zero_infinity) losses = where(eq(losses, INFINITY), 0, losses);
  if (options.reduction == Reduction::mean)
    losses = mean(losses / clamp_min(prepared.target_lengths, 1).to(losses.dtype()));
  if (options.reduction == Reduction::sum) losses = sum(losses);
  if (options.reduction == Reduction::none && unbatched) losses = losses.squeeze(0);
  return losses.to(input.dtype());
}

}  // namespace aorta
