#include <aorta/core/ops/convolution.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

// The bias's gradient: it sums over all dimensions but that of the channels.
Tensor sum_of_channels(const Tensor& gradient) {
  Dims others{0};
  for (int d = 2; d < gradient.dim(); ++d) others.push_back(d);
  return sum(gradient, others);
}

void convolution_gradient(Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                          const ConvolutionPlan& plan) {
  record("convolution", y, {&x, &w, &bias},
         [plan, last = is_channels_last(w), x = Saved::if_wanted(x, 0, w.requires_grad()),
          w = Saved::if_wanted(w, 1, x.requires_grad())](Gradients& g) {
           if (g.wanted(0)) g.input(0) = convolution_transpose(g.output(), g.saved(w), {}, plan);
           if (g.wanted(1)) g.input(1) = convolution_weight(g.saved(x), g.output(), plan, last);
           if (g.wanted(2)) g.input(2) = sum_of_channels(g.output());
         });
}

void convolution_transpose_gradient(Tensor& x, const Tensor& y, const Tensor& w, const Tensor& bias,
                                    const ConvolutionPlan& plan) {
  record("convolution_transpose", x, {&y, &w, &bias},
         [plan, last = is_channels_last(w), y = Saved::if_wanted(y, 0, w.requires_grad()),
          w = Saved::if_wanted(w, 1, y.requires_grad())](Gradients& g) {
           if (g.wanted(0)) g.input(0) = convolution(g.output(), g.saved(w), {}, plan);
           if (g.wanted(1)) g.input(1) = convolution_weight(g.output(), g.saved(y), plan, last);
           if (g.wanted(2)) g.input(2) = sum_of_channels(g.output());
         });
}

void convolution_weight_gradient(Tensor& w, const Tensor& x, const Tensor& y,
                                 const ConvolutionPlan& plan) {
  record("convolution_weight", w, {&x, &y},
         [plan, x = Saved::if_wanted(x, 0, y.requires_grad()),
          y = Saved::if_wanted(y, 1, x.requires_grad())](Gradients& g) {
           if (g.wanted(0)) g.input(0) = convolution_transpose(g.saved(y), g.output(), {}, plan);
           if (g.wanted(1)) g.input(1) = convolution(g.saved(x), g.output(), {}, plan);
         });
}

}  // namespace

void register_convolution() {
  convolution_op.set_gradient(convolution_gradient);
  convolution_transpose_op.set_gradient(convolution_transpose_gradient);
  convolution_weight_op.set_gradient(convolution_weight_gradient);
}

}  // namespace aorta::autograd
