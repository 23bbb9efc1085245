#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/written.h>

#include <cmath>

namespace aorta::kernel {

constinit Op<DropoutKernel, void (*)(Tensor&, const Tensor&, const DropoutMask&)> dropout_op{
    "dropout"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

void check_input(const char* op, const Tensor& input, double p) {
  check_defined(op, {{"input", input}});
  check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
  check(p >= 0 && p <= 1, op, "p must lie in [0, 1]", p);
}

void run(const DropoutMask& mask, const Tensor& input, const Tensor& output) {
  if (input.numel() == 0) return;
  dropout_op.kernel(input.device())(
      {mask, input.dtype(), input.numel(), input.data(), output.data()});
}

Tensor drop_channels(const char* op, const Tensor& input, int channel_dims, double p, bool training,
                     Generator* generator) {
  check_input(op, input, p);
  if (!training || p == 0) return input;
  Shape shape = input.shape();
  for (int d = channel_dims; d < shape.size(); ++d) shape[d] = 1;
  const Tensor all = ones(shape, {.dtype = input.dtype(), .device = input.device()});
  return mul(input, dropout(all, p, true, generator));
}

}  // namespace

DropoutMask kernel::take_dropout_mask(int64_t count, double p, Device device,
                                      Generator* generator) {
  Generator& source = generator ? *generator : default_generator();
  const uint64_t threshold = static_cast<uint64_t>(std::llround(std::ldexp(p, 32)));
  const int64_t blocks = device.is_meta() ? 0 : (count + 3) / 4;
  const GeneratorState taken = source.take(blocks);
  return {taken, threshold, p < 1 ? 1 / (1 - p) : 0, live_draw(source, taken, blocks, device)};
}

Tensor kernel::masked_dropout(const Tensor& input, const DropoutMask& mask) {
  const CalledOp called(dropout_op.name());
  const ProfilerRange range(dropout_op.name(), {&input});
  const Tensor x = input.detach().contiguous();
  Tensor output = empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  run(mask, x, output);
  if (!input.is_contiguous()) {
    const Tensor like = empty_like(input.detach());
    like.copy_(output);
    output = like;
  }
  if (needs_gradient(input)) dropout_op.gradient()(output, input, mask);
  tell_tracer(dropout_op.name(), {&output}, {&input}, mask);
  return output;
}

Tensor dropout(const Tensor& input, double p, bool training, Generator* generator) {
  check_input("dropout", input, p);
  if (!training || p == 0) return input;
  return masked_dropout(input, take_dropout_mask(input.numel(), p, input.device(), generator));
}

const Tensor& dropout_(const Tensor& input, double p, bool training, Generator* generator) {
  check_input("dropout_", input, p);
  check_writable("dropout_", input);
  if (!training || p == 0) return input;
  const CalledOp called("dropout_");
  const ProfilerRange range(dropout_op.name(), {&input});
  const bool record = records_write("dropout_", input, needs_gradient(input));
  const DropoutMask mask = take_dropout_mask(input.numel(), p, input.device(), generator);
  const Tensor target = input.detach();
  if (input.is_contiguous()) {
    run(mask, target, target);
    bump_written(input);
  } else {
    const Tensor x = target.contiguous();
    run(mask, x, x);
    target.copy_(x);
  }
  if (record) {
    Tensor written = input;
    dropout_op.gradient()(written, input, mask);
  }
  tell_tracer(dropout_op.name(), {&input}, {&input}, mask);
  return input;
}

Tensor dropout1d(const Tensor& input, double p, bool training, Generator* generator) {
  check_defined("dropout1d", {{"input", input}});
  const int n = input.dim();
  check(n == 2 || n == 3, "dropout1d", "input must be (C, L) or (N, C, L)", input.shape());
  return drop_channels("dropout1d", input, n - 1, p, training, generator);
}

Tensor dropout2d(const Tensor& input, double p, bool training, Generator* generator) {
  check_defined("dropout2d", {{"input", input}});
  const int n = input.dim();
  check(n == 3 || n == 4, "dropout2d",
        "input must be (N, C, L) or (N, C, H, W); dropout is for (N, C)", input.shape());
  return drop_channels("dropout2d", input, 2, p, training, generator);
}

Tensor dropout3d(const Tensor& input, double p, bool training, Generator* generator) {
  check_defined("dropout3d", {{"input", input}});
  const int n = input.dim();
  check(n == 4 || n == 5, "dropout3d", "input must be (C, D, H, W) or (N, C, D, H, W)",
        input.shape());
  return drop_channels("dropout3d", input, n - 3, p, training, generator);
}

}  // namespace aorta
