#pragma once

#include <aorta/autograd/node.h>

namespace aorta::autograd {

/// True while a DetectAnomaly of this thread lives.
bool detects_anomaly();
/// Throws when a gradient that `node` has computed holds a NaN.
void check_anomaly(const Node& node, std::span<const Tensor> gradients);

}  // namespace aorta::autograd
