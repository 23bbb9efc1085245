#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>

#include <algorithm>

namespace aorta::kernel {

constinit Op<ScanKernel, ScanGradient> cumsum_op{"cumsum"};
constinit Op<ScanKernel, ScanGradient> cumprod_op{"cumprod"};
constinit Op<ScanKernel, ScanGradient> logcumsumexp_op{"logcumsumexp"};
constinit Op<ScanPickKernel, ScanPickGradient> cummax_op{"cummax"};
constinit Op<ScanPickKernel, ScanPickGradient> cummin_op{"cummin"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

template <class Gradient>
Tensor scan(const Op<ScanKernel, Gradient>& op, const Tensor& input, int dim) {
  check(!input.is_complex(), op.name(), "dtype must be real", input.dtype());
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&input});
  const Tensor x = dense(input);
  const Lines lines = lines_of(x, dim);
  Tensor output = empty_lines(x, dim, lines.length, x.dtype());
  if (x.numel() > 0) op.kernel(x.device())({x.data(), output.data(), x.dtype(), lines});
  return output;
}

Tensor run(const Op<ScanKernel, ScanGradient>& op, const Tensor& given, int64_t given_dim,
           std::optional<DType> dtype) {
  const CalledOp called(op.name());
  check_defined(op.name(), {{"input", given}});
  const int dim = wrap_dim(op.name(), given_dim, given.dim());
  const Tensor taken = autocast_to_f32(given);
  check_stays_complex(op.name(), taken.dtype(), dtype.value_or(taken.dtype()));
  const Tensor input =
      taken.to(dtype.value_or(is_differentiable(taken.dtype()) ? taken.dtype() : DType::i64));
  if (input.is_complex() && &op == &cumsum_op) {
    if (input.dim() == 0) return input.clone();
    return by_parts(input, [&](const Tensor& parts) { return cumsum(parts, dim); });
  }
  Tensor output = scan(op, input, dim);
  if (is_floating(input.dtype()) && needs_gradient(input)) op.gradient()(output, input, dim);
  tell_tracer(op.name(), {&output}, {&input}, dim);
  return output;
}

ValuesIndices run_extremum(const Op<ScanPickKernel, ScanPickGradient>& op, const Tensor& input,
                           int64_t given_dim) {
  const CalledOp called(op.name());
  check_defined(op.name(), {{"input", input}});
  const int dim = wrap_dim(op.name(), given_dim, input.dim());
  check(!input.is_complex(), op.name(), "dtype must be real", input.dtype());
  const ProfilerRange range(op.name(), {&input});
  const Tensor x = dense(input.detach());
  const Lines lines = lines_of(x, dim);
  ValuesIndices result{empty_lines(x, dim, lines.length, x.dtype()),
                       empty_lines(x, dim, lines.length, DType::i64)};
  if (x.numel() > 0) {
    op.kernel(x.device())(
        {{x.data(), result.values.data(), x.dtype(), lines}, result.indices.data<int64_t>()});
  }
  if (is_floating(x.dtype()) && needs_gradient(input))
    op.gradient()(result.values, input, result.indices, dim);
  tell_tracer(op.name(), {&result.values, &result.indices}, {&input}, dim);
  return result;
}

}  // namespace

Tensor cumsum(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run(cumsum_op, input, dim, dtype);
}
Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run(cumprod_op, input, dim, dtype);
}
ValuesIndices cummax(const Tensor& input, int64_t dim) {
  return run_extremum(cummax_op, input, dim);
}
ValuesIndices cummin(const Tensor& input, int64_t dim) {
  return run_extremum(cummin_op, input, dim);
}
Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  const CalledOp called("vander");
  check_defined("vander", {{"x", x}});
  check(x.dim() == 1, "vander", "x must have one dimension", x.shape());
  const int64_t count = N.value_or(x.numel());
  check(count >= 0, "vander", "N can't be negative", count);
  const Tensor column = x.unsqueeze(1);
  const Tensor factors = cat(
      {ones_like(column.detach()), column.expand({x.numel(), std::max<int64_t>(count - 1, 0)})}, 1);
  const Tensor powers = cumprod(factors.narrow(1, 0, count), 1);
  return increasing ? powers : flip(powers, {1});
}
Tensor logcumsumexp(const Tensor& input, int64_t dim) {
  const CalledOp called("logcumsumexp");
  check_defined("logcumsumexp", {{"input", input}});
  check(is_floating(input.dtype()), "logcumsumexp", "dtype must be floating", input.dtype());
  const int d = wrap_dim("logcumsumexp", dim, input.dim());
  // A half type's results are too coarse for the gradient, which takes differences of them.
  if (is_half(input.dtype())) return logcumsumexp(input.to(DType::f32), d).to(input.dtype());
  Tensor output = scan(logcumsumexp_op, input, d);
  if (needs_gradient(input)) logcumsumexp_op.gradient()(output, input, d);
  tell_tracer(logcumsumexp_op.name(), {&output}, {&input}, d);
  return output;
}

}  // namespace aorta
