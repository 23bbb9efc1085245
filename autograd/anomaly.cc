#include <aorta/autograd/anomaly.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

thread_local constinit bool anomaly = false;

}  // namespace

DetectAnomaly::DetectAnomaly(bool enabled) : outer_(std::exchange(anomaly, enabled)) {}
DetectAnomaly::~DetectAnomaly() { anomaly = outer_; }

bool detects_anomaly() { return anomaly; }

void check_anomaly(const Node& node, std::span<const Tensor> gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || gradients[i].is_meta()) continue;
    const bool bad = any(isnan(gradients[i].detach())).item<bool>();
    check(!bad, node.description(), "a gradient must not be NaN", "input ", i, " of shape ",
          gradients[i].shape());
  }
}

}  // namespace aorta::autograd
