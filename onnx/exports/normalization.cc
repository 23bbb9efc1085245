#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/onnx/export_call.h>

// Normalisations. Where there is no weight or bias, ONNX's operators get ones or zeros.
namespace aorta::onnx {
namespace {

using kernel::ChannelNormPlan;
using kernel::LineNormPlan;

std::string filled(const ExportCall& call, const Shape& shape, double value) {
  return call.constant(full(shape, value, {.dtype = call.input(0).dtype()}));
}
std::string given_or(const ExportCall& call, size_t i, const Shape& shape, double value) {
  return call.has(i) ? call[i] : filled(call, shape, value);
}

// relu(y + residual), where that was fused.
std::string fused(const ExportCall& call, const ChannelNormPlan& plan, std::string value) {
  if (call.has(3)) value = call.node("Add", {value, call[3]});
  return plan.relu ? call.node("Relu", {value}) : value;
}

// By running statistics; inputs: x, weight, bias, residual, mean, var.
std::string by_running(const ExportCall& call, const ChannelNormPlan& plan) {
  const Shape channels{call.input(0).size(1)};
  const DType dtype = call.input(0).dtype();
  const Names inputs{call[0], given_or(call, 1, channels, 1), given_or(call, 2, channels, 0),
                     call.cast(call[4], call.input(4).dtype(), dtype),
                     call.cast(call[5], call.input(5).dtype(), dtype)};
  return fused(call, plan,
               call.node("BatchNormalization", inputs, {attribute("epsilon", plan.eps)}));
}

Names batch_norm(const ExportCall& call) {
  const auto& [plan] = call.options<ChannelNormPlan>();
  call.check(plan.given, "batch normalisation must be by running statistics", "one by the batch's");
  return {by_running(call, plan)};
}

Names instance_norm(const ExportCall& call) {
  const auto& [plan] = call.options<ChannelNormPlan>();
  if (plan.given) return {by_running(call, plan)};
  const Shape channels{call.input(0).size(1)};
  return {call.node("InstanceNormalization",
                    {call[0], given_or(call, 1, channels, 1), given_or(call, 2, channels, 0)},
                    {attribute("epsilon", plan.eps)})};
}

// Groups are the channels of an instance normalisation; weights are the channels' own.
Names group_norm(const ExportCall& call) {
  const auto& [plan] = call.options<ChannelNormPlan>();
  const Shape& shape = call.input(0).shape();
  const int64_t channels = shape[1], groups = channels / plan.width;
  const int64_t rest = call.input(0).numel() / (shape[0] * groups);
  const std::string flat = call.reshaped(call[0], {shape[0], groups, rest});
  const std::string normal = call.node("InstanceNormalization",
                                       {flat, filled(call, {groups}, 1), filled(call, {groups}, 0)},
                                       {attribute("epsilon", plan.eps)});
  std::string value = call.reshaped(normal, shape);
  Shape along = Dims::filled(shape.size() - 1, 1);
  along[0] = channels;
  if (call.has(1)) value = call.node("Mul", {value, call.reshaped(call[1], along)});
  if (call.has(2)) value = call.node("Add", {value, call.reshaped(call[2], along)});
  return {value};
}

// The last dimensions whose sizes make a line.
Shape normalized_shape(const ExportCall& call, int64_t length) {
  if (call.has(1)) return call.input(1).shape();
  if (call.has(2)) return call.input(2).shape();
  const Shape& shape = call.input(0).shape();
  Shape result;
  int64_t product = 1;
  for (int d = shape.size() - 1; d >= 0 && (product < length || result.empty()); --d) {
    result.insert(0, shape[d]);
    product *= shape[d];
  }
  return result;
}

Names layer_norm(const ExportCall& call) {
  const auto& [plan] = call.options<LineNormPlan>();
  const Shape shape = normalized_shape(call, plan.length);
  return {call.node("LayerNormalization",
                    {call[0], given_or(call, 1, shape, 1), given_or(call, 2, shape, 0)},
                    {attribute("axis", -shape.size()), attribute("epsilon", plan.eps)})};
}

Names rms_norm(const ExportCall& call) {
  const auto& [plan] = call.options<LineNormPlan>();
  std::vector<int64_t> axes;
  for (int d = -normalized_shape(call, plan.length).size(); d < 0; ++d) axes.push_back(d);
  const std::string x = call.computed(0), squares = call.node("Mul", {x, x});
  const std::string mean = call.node("ReduceMean", {squares, call.integers(axes)});
  const std::string shifted =
      call.node("Add", {mean, call.number(plan.eps, call.computed_dtype())});
  const std::string value = call.node("Div", {x, call.node("Sqrt", {shifted})});
  return {call.rounded(call.has(1) ? call.node("Mul", {value, call.computed(1)}) : value)};
}

}  // namespace

void add_normalization_exports(Exports& table) {
  table["batch_norm"] = batch_norm;
  table["instance_norm"] = instance_norm;
  table["group_norm"] = group_norm;
  table["layer_norm"] = layer_norm;
  table["rms_norm"] = rms_norm;
}

}  // namespace aorta::onnx
