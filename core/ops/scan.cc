#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/scan.h>

namespace aorta::kernel {

constinit Op<ScanKernel, ScanGradient> cumsum_op{"cumsum"};
constinit Op<ScanKernel, ScanGradient> cumprod_op{"cumprod"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

Tensor run(const Op<ScanKernel, ScanGradient>& op, const Tensor& given, int64_t given_dim,
           std::optional<DType> dtype) {
  const CalledOp called(op.name());
  check_defined(op.name(), {{"input", given}});
  const int dim = wrap_dim(op.name(), given_dim, given.dim());
  const Tensor taken = autocast_to_f32(given);
  const Tensor input =
      taken.to(dtype.value_or(is_floating(taken.dtype()) ? taken.dtype() : DType::i64));
  const ProfilerRange range(op.name(), {&input});
  const Tensor x = dense(input);
  const Lines lines = lines_of(x, dim);
  Tensor output = empty_lines(x, dim, lines.length, x.dtype());
  if (x.numel() > 0) op.kernel(x.device())({x.data(), output.data(), x.dtype(), lines});
  if (is_floating(x.dtype()) && needs_gradient(input)) op.gradient()(output, input, dim);
  return output;
}

}  // namespace

Tensor cumsum(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run(cumsum_op, input, dim, dtype);
}
Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run(cumprod_op, input, dim, dtype);
}

}  // namespace aorta
