#include <aorta/core/body/im2col.h>
#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/im2col.h>

#include <limits>

namespace aorta::kernel {

constinit Op<Im2colKernel, Im2colGradient> im2col_op{"im2col"};
constinit Op<Im2colKernel, Im2colGradient> col2im_op{"col2im"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

using body::Im2colDim;

constexpr int64_t kLargestBlock = std::numeric_limits<int32_t>::max();

Dims two_numbers(const char* op, const char* rule, const Dims& given, int64_t least) {
  const Dims numbers = given.size() == 1 ? Dims::filled(2, given[0]) : given;
  bool ok = numbers.size() == 2;
  for (const int64_t n : numbers) ok &= n >= least && n <= kLargestBlock;
  check(ok, op, rule, given);
  return numbers;
}

BlockPlan plan_of(const char* op, const Dims& sizes, const Dims& kernel_size, const Dims& dilation,
                  const Dims& padding, const Dims& stride) {
  const Dims k = two_numbers(op, "kernel_size must be one number or two, positive and below 2^31",
                             kernel_size, 1);
  const Dims d =
      two_numbers(op, "dilation must be one number or two, positive and below 2^31", dilation, 1);
  const Dims p =
      two_numbers(op, "padding must be one number or two, not negative and below 2^31", padding, 0);
  const Dims s =
      two_numbers(op, "stride must be one number or two, positive and below 2^31", stride, 1);
  BlockPlan plan;
  Im2colDim* const dims[] = {&plan.height, &plan.width};
  for (int i = 0; i < 2; ++i) {
    const int64_t room = sizes[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1;
    check(room >= 0, op, "the padded image must be at least as large as a block", sizes,
          " for kernel_size ", kernel_size, ", dilation ", dilation, ", padding ", padding);
    *dims[i] = {sizes[i], room / s[i] + 1, k[i], s[i], p[i], d[i]};
  }
  return plan;
}

Tensor run(const Op<Im2colKernel, Im2colGradient>& op, const Tensor& input, const BlockPlan& plan,
           int64_t planes, const Shape& shape) {
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&input});
  checked_numel(op.name(), shape, item_size(input.dtype()));
  const Tensor x = input.contiguous();
  Tensor output = empty(shape, {.dtype = x.dtype(), .device = x.device()});
  if (output.numel() > 0)
    op.kernel(x.device())({planes, plan.height, plan.width, x.data(), output.data(), x.dtype()});
  if (needs_gradient(input)) op.gradient()(output, input, plan);
  tell_tracer(op.name(), {&output}, {&input}, plan);
  return output;
}

}  // namespace

Tensor kernel::im2col(const Tensor& input, const BlockPlan& plan) {
  const int front = input.dim() - 2;
  const int64_t blocks = checked_numel("im2col", {plan.height.output, plan.width.output});
  const int64_t rows =
      checked_numel("im2col", {input.size(front - 1), plan.height.kernel, plan.width.kernel});
  Shape shape{rows, blocks};
  if (front == 2) shape.insert(0, input.size(0));
  return run(im2col_op, input, plan, input.size(front - 1) * (front == 2 ? input.size(0) : 1),
             shape);
}

Tensor kernel::col2im(const Tensor& input, const BlockPlan& plan) {
  const int64_t channels = input.size(-2) / (plan.height.kernel * plan.width.kernel);
  Shape shape{channels, plan.height.input, plan.width.input};
  if (input.dim() == 3) shape.insert(0, input.size(0));
  return run(col2im_op, input, plan, channels * (input.dim() == 3 ? input.size(0) : 1), shape);
}

Tensor im2col(const Tensor& input, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  const CalledOp called("im2col");
  check_defined("im2col", {{"input", input}});
  check(is_floating(input.dtype()), "im2col", "dtype must be floating", input.dtype());
  check(input.dim() == 3 || input.dim() == 4, "im2col", "input must be (N, C, H, W) or (C, H, W)",
        input.shape());
  for (int d = input.dim() - 3; d < input.dim(); ++d)
    check(input.size(d) > 0 && input.size(d) <= kLargestBlock, "im2col",
          "sizes must be positive and below 2^31, but that of the batch", input.shape());
  return kernel::im2col(input, plan_of("im2col", {input.size(-2), input.size(-1)}, kernel_size,
                                       dilation, padding, stride));
}

Tensor col2im(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride) {
  const CalledOp called("col2im");
  check_defined("col2im", {{"input", input}});
  check(is_floating(input.dtype()), "col2im", "dtype must be floating", input.dtype());
  check(input.dim() == 2 || input.dim() == 3, "col2im",
        "input must be (N, C kh kw, L) or (C kh kw, L)", input.shape());
  const Dims sizes = two_numbers(
      "col2im", "output_size must be one number or two, positive and below 2^31", output_size, 1);
  const BlockPlan plan = plan_of("col2im", sizes, kernel_size, dilation, padding, stride);
  const int64_t taps = checked_numel("col2im", {plan.height.kernel, plan.width.kernel});
  check(input.size(-2) > 0 && input.size(-2) % taps == 0, "col2im",
        "rows must be a multiple of the kernel's positions", input.shape(), " for kernel_size ",
        kernel_size);
  const int64_t blocks = checked_numel("col2im", {plan.height.output, plan.width.output});
  check(input.size(-1) == blocks, "col2im", "columns must be as many as blocks", input.shape(),
        " for ", blocks, " of output_size ", output_size);
  return kernel::col2im(input, plan);
}

}  // namespace aorta
