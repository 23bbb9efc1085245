#include <aorta/core/ops/pooling.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/indexing.h>

namespace aorta::autograd {
namespace {

void max_pool_gradient(Tensor& values, const Tensor& input, const Tensor& indices, int spatial) {
  record("max_pool", values, {&input}, [spatial, places = Saved(indices, 1)](Gradients& g) {
    g.input() = max_pool_backward(g.output(), g.saved(places), g.input_shape(), spatial);
  });
}

// What was scattered is gathered.
void max_pool_backward_gradient(Tensor& output, const Tensor& gradient, const Tensor& indices,
                                int spatial) {
  record("max_pool_backward", output, {&gradient},
         [spatial, places = Saved(indices, 1)](Gradients& g) {
           const int first = g.input_shape().size() - spatial;
           g.input() = gather(g.output().flatten(first), first, g.saved(places).flatten(first))
                           .reshape(g.input_shape());
         });
}

void avg_pool_gradient(Tensor& output, const Tensor& input, const AveragePlan& plan) {
  kernel::AveragePlan back = plan;
  back.channels_last = input.dim() == plan.spatial + 2 && is_channels_last(input);
  record("avg_pool", output, {&input},
         [back](Gradients& g) { g.input() = avg_pool_backward(g.output(), back); });
}

void avg_pool_backward_gradient(Tensor& output, const Tensor& input, const AveragePlan& plan) {
  record("avg_pool_backward", output, {&input},
         [plan](Gradients& g) { g.input() = avg_pool(g.output(), plan); });
}

}  // namespace

void register_pooling() {
  max_pool_op.set_gradient(max_pool_gradient);
  max_pool_backward_op.set_gradient(max_pool_backward_gradient);
  avg_pool_op.set_gradient(avg_pool_gradient);
  avg_pool_backward_op.set_gradient(avg_pool_backward_gradient);
}

}  // namespace aorta::autograd
