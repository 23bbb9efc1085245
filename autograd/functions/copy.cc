#include <aorta/autograd/record.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

// The engine converts the gradient to the input's dtype and device.
void copy_gradient(Tensor& output, const Tensor& input) {
  record("to", output, {&input}, [](Gradients& g) { g.input() = g.output(); });
}

// What was overwritten gets nothing.
void copy_into_gradient(const Tensor& destination, const Tensor& source) {
  record("copy_", destination, {nullptr, &source}, [](Gradients& g) {
    if (g.wanted(1)) g.input(1) = sum_to_size(g.output(), g.input_shape(1));
  });
}

void fill_gradient(const Tensor& output) {
  record("fill_", output, {}, [](Gradients&) {});
}

void random_gradient(const Tensor& output) {
  record("random_", output, {}, [](Gradients&) {});
}

}  // namespace

void register_copy() {
  copy_op.set_gradient(copy_gradient);
  copy_into_op.set_gradient(copy_into_gradient);
  fill_op.set_gradient(fill_gradient);
  random_op.set_gradient(random_gradient);
}

}  // namespace aorta::autograd
