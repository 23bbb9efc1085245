#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

// Nothing random: in evaluation, or of ratio 0.
Tensors dropout_of(const Case& c) {
  const double ratio = c.has(1) ? c.inputs[1].item<double>() : c.number("ratio", 0.5);
  const bool training = c.has(2) && c.inputs[2].item<bool>();
  Tensors results{dropout(c.inputs[0], ratio, training)};
  if (c.outputs == 2) results.push_back(ones(c.inputs[0].shape(), {.dtype = boolean}));
  return results;
}

std::string is_random(const Case& c) {
  const bool training = c.has(2) && c.inputs[2].item<bool>();
  const double ratio = c.has(1) ? c.inputs[1].item<double>() : c.number("ratio", 0.5);
  return training && ratio > 0 ? "its random numbers are another generator's" : "";
}

}  // namespace

void add_layers(Operators& table) { table["Dropout"] = {dropout_of, 0, 0, is_random}; }

}  // namespace aorta::onnx
