#include <aorta/core/ops/interpolate.h>

#include <aorta/autograd/record.h>

namespace aorta::autograd {
namespace {

// The map is linear, so its gradient is the transposed map, whose gradient is the map again.
void interpolate_gradient(Tensor& output, const Tensor& input, const InterpolatePlanRef& plan) {
  record("interpolate", output, {&input},
         [plan](Gradients& g) { g.input() = resample(g.output(), transposed_plan(*plan)); });
}

}  // namespace

void register_interpolate() { interpolate_op.set_gradient(interpolate_gradient); }

}  // namespace aorta::autograd
