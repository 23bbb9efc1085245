#include <aorta/core/ops/softmax.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

void softmax_gradient(Tensor& output, const Tensor& input, int dim) {
  record("softmax", output, {&input}, [dim, y = Saved::output(output)](Gradients& g) {
    if (!grad_enabled()) {
      g.input() = softmax_backward(g.output(), g.saved(y), dim);
      return;
    }
    const Tensor weighted = g.output() * g.saved(y);
    g.input() = weighted - g.saved(y) * sum(weighted, dim, true);
  });
}

void log_softmax_gradient(Tensor& output, const Tensor& input, int dim) {
  record("log_softmax", output, {&input}, [dim, y = Saved::output(output)](Gradients& g) {
    g.input() = grad_enabled() ? g.output() - exp(g.saved(y)) * sum(g.output(), dim, true)
                               : log_softmax_backward(g.output(), g.saved(y), dim);
  });
}

}  // namespace

void register_softmax() {
  softmax_op.set_gradient(softmax_gradient);
  log_softmax_op.set_gradient(log_softmax_gradient);
}

}  // namespace aorta::autograd
