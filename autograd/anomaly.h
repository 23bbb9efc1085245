#pragma once

#include <aorta/autograd/node.h>

namespace aorta::autograd {

/// While it lives, a NaN in a gradient is an error that names the forward op and its module.
class DetectAnomaly {
 public:
  [[nodiscard]] explicit DetectAnomaly(bool enabled = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool outer_;
};

/// True while a DetectAnomaly of this thread lives.
bool detects_anomaly();
/// Throws when a gradient that `node` has computed holds a NaN.
void check_anomaly(const Node& node, std::span<const Tensor> gradients);

}  // namespace aorta::autograd
