#include <aorta/core/ops/dropout.h>

#include <aorta/autograd/record.h>

namespace aorta::autograd {
namespace {

void dropout_gradient(Tensor& output, const Tensor& input, const DropoutMask& mask) {
  record("dropout", output, {&input},
         [mask](Gradients& g) { g.input() = masked_dropout(g.output(), mask); });
}

}  // namespace

void register_dropout() { dropout_op.set_gradient(dropout_gradient); }

}  // namespace aorta::autograd
