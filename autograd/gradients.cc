#include <aorta/autograd/gradients.h>
#include <aorta/core/ops/creation.h>

namespace aorta::autograd {

const Tensor& Gradients::output(size_t i) {
  if (!outputs_[i].defined()) {
    const GradientSpec& spec = node_.outputs()[i];
    outputs_[i] = zeros(spec.shape, {.dtype = spec.dtype, .device = spec.device});
  }
  return outputs_[i];
}

}  // namespace aorta::autograd
