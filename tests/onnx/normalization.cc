#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

double eps_of(const Case& c) { return c.number("epsilon", 1e-5); }

// ONNX's momentum says what is kept of the running statistics, and its running variance takes the
// biased one.
Tensors batch(const Case& c) {
  const Tensor &x = c.inputs[0], &weight = c.inputs[1], &bias = c.inputs[2];
  const Tensor mean = c.inputs[3].clone(), var = c.inputs[4].clone();
  if (c.integer("training_mode", 0) == 0)
    return {batch_norm(x, mean, var, weight, bias, {.eps = eps_of(c)})};
  const double kept = c.number("momentum", 0.9);
  const double count = static_cast<double>(x.numel() / x.size(1));
  // The unbiased one's share, less what it has too much of.
  const Tensor old = var.clone();
  const Tensor y = batch_norm(x, mean, var, weight, bias,
                              {.training = true, .momentum = 1 - kept, .eps = eps_of(c)});
  const Tensor unbiased = (var - old * kept) / (1 - kept);
  return {y, mean, old * kept + unbiased * ((count - 1) / count * (1 - kept))};
}

Dims dims_from_axis(const Case& c) {
  Dims dims;
  const int ndim = c.inputs[0].dim();
  const int64_t axis = c.integer("axis", -1);
  for (int64_t d = axis < 0 ? axis + ndim : axis; d < ndim; ++d) dims.push_back(d);
  return dims;
}

Shape shape_of(const Tensor& x, const Dims& dims) {
  Shape shape;
  for (int64_t d : dims) shape.push_back(x.size(d));
  return shape;
}

Tensor or_nothing(const Case& c, size_t i) { return c.has(i) ? c.inputs[i] : Tensor(); }

// The statistics come out too: the mean, and the inverse of the deviation.
Tensors layer(const Case& c) {
  const Tensor& x = c.inputs[0];
  const Dims dims = dims_from_axis(c);
  const Tensor y = layer_norm(x, shape_of(x, dims), c.inputs[1], or_nothing(c, 2), eps_of(c));
  if (c.outputs == 1) return {y};
  return {y, mean(x, dims, true), rsqrt(var(x, dims, 0, true) + eps_of(c))};
}

Tensors root_mean_square(const Case& c) {
  const Tensor& x = c.inputs[0];
  return {rms_norm(x, shape_of(x, dims_from_axis(c)), or_nothing(c, 1), eps_of(c))};
}

}  // namespace

void add_normalization(Operators& table) {
  constexpr double kSums = 1e-5;
  table["BatchNormalization"] = {batch, kSums, kSums};
  table["GroupNormalization"] = {[](const Case& c) -> Tensors {
                                   return {group_norm(c.inputs[0], c.integer("num_groups", 1),
                                                      c.inputs[1], c.inputs[2], eps_of(c))};
                                 },
                                 kSums, kSums};
  table["InstanceNormalization"] = {
      [](const Case& c) -> Tensors {
        return {instance_norm(c.inputs[0], {}, {}, c.inputs[1], c.inputs[2], {.eps = eps_of(c)})};
      },
      kSums, kSums};
  table["LayerNormalization"] = {layer, kSums, kSums};
  table["RMSNormalization"] = {root_mean_square, kSums, kSums};
}

}  // namespace aorta::onnx
