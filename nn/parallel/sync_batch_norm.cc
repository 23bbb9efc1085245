#include <aorta/autograd/function.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/nn/parallel/sync_batch_norm.h>

namespace aorta::nn {
namespace {

// The sum of all ranks' tensors on each rank; so a tensor's gradient is the sum of all ranks'
// gradients of that sum.
struct AllReduceSum : autograd::Function<AllReduceSum> {
  static constexpr const char* name = "all_reduce";
  static std::vector<Tensor> forward(FunctionContext& context, const Tensor& mine,
                                     Communicator* group) {
    context.data["group"] = group;
    const Tensor sum = mine.clone();
    group->all_reduce(sum);
    return {sum};
  }
  static std::vector<Tensor> backward(FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    return {apply(gradients[0], context.get<Communicator*>("group"))[0]};
  }
};

// A value a channel (C), spread over (N, C, *).
Tensor by_channel(const Tensor& values, int dims) {
  Shape shape = Shape::filled(dims, 1);
  shape[1] = values.numel();
  return values.view(shape);
}

// Moves running statistics towards those of a batch of n values; of one alone, or none, there are
// no such. Without waiting for n.
void move(const Tensor& running, const Tensor& value, const Tensor& n, double momentum) {
  if (running.defined())
    lerp_(running, where(gt(n, 1), value.to(running.dtype()), running), momentum);
}

}  // namespace

Tensor sync_batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                       const Tensor& weight, const Tensor& bias,
                       const BatchNormFuncOptions& options, Communicator& group) {
  check(is_floating(input.dtype()), "batch_norm", "dtype must be floating", input.dtype());
  const Tensor x = is_half(input.dtype()) ? input.to(f32) : input;
  const int64_t channels = x.size(1);
  Dims dims{0};
  for (int i = 2; i < x.dim(); ++i) dims.push_back(i);
  const double count = channels > 0 ? static_cast<double>(x.numel() / channels) : 0;
  // The number of values travels with their sums.
  const Tensor sums = AllReduceSum::apply(
      cat({sum(x, dims).to(f64), full({1}, count, {.dtype = f64, .device = x.device()})}),
      &group)[0];
  const Tensor n = sums.narrow(0, channels, 1).detach();
  const Tensor mean = sums.narrow(0, 0, channels) / n;
  const Tensor centred = x - by_channel(mean.to(x.dtype()), x.dim());
  const Tensor var = AllReduceSum::apply(sum(square(centred), dims).to(f64), &group)[0] / n;
  {
    const NoGradGuard no_grad;
    move(running_mean, mean.detach(), n, options.momentum);
    move(running_var, var.detach() * n / (n - 1), n, options.momentum);
  }
  Tensor scale = rsqrt(var + options.eps).to(x.dtype());
  if (weight.defined()) scale = scale * weight.to(x.dtype());
  Tensor output = centred * by_channel(scale, x.dim());
  if (bias.defined()) output = output + by_channel(bias.to(x.dtype()), x.dim());
  if (options.residual.defined()) output = output + options.residual.to(x.dtype());
  if (options.relu) output = relu(output);
  return output.to(input.dtype());
}

}  // namespace aorta::nn
