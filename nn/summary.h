#pragma once

#include <aorta/nn/module.h>

namespace aorta::nn {

/// One line of Module::summary.
struct ModuleSummary {
  std::string name;  // "layer1.0.conv1"; empty for the module itself
  std::string type;
  int depth = 0;
  int64_t parameters = 0;            // with those inside, tied ones once
  std::vector<Shape> output_shapes;  // of the first call; empty when it wasn't called
  int64_t multiply_adds = 0;         // of all calls, with those inside
};
/// What Module::summary prints: the module, and then those inside in the order of named_modules().
std::vector<ModuleSummary> summarize(Module& module, const Tensor& input = {});

}  // namespace aorta::nn
