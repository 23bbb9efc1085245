#include <aorta/core/body/im2col.h>
#include <aorta/core/ops/im2col.h>

#include <aorta/autograd/record.h>

namespace aorta::autograd {
namespace {

void im2col_gradient(Tensor& output, const Tensor& input, const BlockPlan& plan) {
  record("im2col", output, {&input},
         [plan](Gradients& g) { g.input() = kernel::col2im(g.output(), plan); });
}

void col2im_gradient(Tensor& output, const Tensor& input, const BlockPlan& plan) {
  record("col2im", output, {&input},
         [plan](Gradients& g) { g.input() = kernel::im2col(g.output(), plan); });
}

}  // namespace

void register_im2col() {
  im2col_op.set_gradient(im2col_gradient);
  col2im_op.set_gradient(col2im_gradient);
}

}  // namespace aorta::autograd
