#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/softmax.h>

namespace aorta::kernel {

constinit Op<SoftmaxKernel, SoftmaxGradient> softmax_op{"softmax"};
constinit Op<SoftmaxKernel, SoftmaxGradient> log_softmax_op{"log_softmax"};
constinit Op<SoftmaxBackwardKernel, NoGradient> softmax_backward_op{"softmax_backward"};
constinit Op<SoftmaxBackwardKernel, NoGradient> log_softmax_backward_op{"log_softmax_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

Tensor run(const Op<SoftmaxKernel, SoftmaxGradient>& op, const Tensor& given, int64_t given_dim,
           std::optional<DType> dtype) {
  const CalledOp called(op.name());
  check_defined(op.name(), {{"input", given}});
  const int dim = wrap_dim(op.name(), given_dim, given.dim());
  check_stays_complex(op.name(), given.dtype(), dtype.value_or(given.dtype()));
  const Tensor input = dtype ? given.to(*dtype) : autocast_to_f32(given);
  check(is_floating(input.dtype()), op.name(), "dtype must be floating", input.dtype());
  const ProfilerRange range(op.name(), {&input});
  const Tensor x = dense(input);
  const Lines lines = lines_of(x, dim);
  Tensor output = empty_lines(x, dim, lines.length, x.dtype());
  if (x.numel() > 0) op.kernel(x.device())({x.data(), output.data(), x.dtype(), lines});
  if (needs_gradient(input)) op.gradient()(output, input, dim);
  tell_tracer(op.name(), {&output}, {&input}, dim);
  return output;
}

Tensor run_backward(const Op<SoftmaxBackwardKernel, NoGradient>& op, const Tensor& gradient,
                    const Tensor& output, int dim) {
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&gradient, &output});
  const Tensor y = dense(output);
  const auto beside = [&] {
    return empty_strided(y.shape(), y.strides(), {.dtype = y.dtype(), .device = y.device()});
  };
  Tensor g = gradient.detach();
  if (g.strides() != y.strides()) g = beside().copy_(g);
  const Tensor input = beside();
  if (y.numel() > 0)
    op.kernel(y.device())({g.data(), y.data(), input.data(), y.dtype(), lines_of(y, dim)});
  return input;
}

}  // namespace

Tensor kernel::softmax_backward(const Tensor& gradient, const Tensor& output, int dim) {
  return run_backward(softmax_backward_op, gradient, output, dim);
}
Tensor kernel::log_softmax_backward(const Tensor& gradient, const Tensor& output, int dim) {
  return run_backward(log_softmax_backward_op, gradient, output, dim);
}

Tensor softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run(softmax_op, input, dim, dtype);
}
Tensor softmin(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  check_defined("softmin", {{"input", input}});
  const CalledOp called("softmin");
  return softmax(neg(input), dim, dtype);
}
Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run(log_softmax_op, input, dim, dtype);
}

}  // namespace aorta
