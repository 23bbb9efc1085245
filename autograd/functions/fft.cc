#include <aorta/autograd/record.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/pointwise.h>

namespace aorta::autograd {
namespace {

// A transform's gradient is the one with the conjugate numbers.
void c2c_gradient(Tensor& output, const Tensor& input, int dim, bool forward, double scale) {
  record("fft_c2c", output, {&input}, [dim, forward, scale](Gradients& g) {
    g.input() = fft_c2c(g.output(), dim, !forward, scale);
  });
}

// The second half of the n numbers isn't there, and the input has no imaginary parts.
void r2c_gradient(Tensor& output, const Tensor& input, int dim, bool, double scale) {
  record("fft_r2c", output, {&input}, [dim, scale](Gradients& g) {
    const Tensor whole = resized(g.output(), dim, g.input_shape()[dim]);
    g.input() = real(fft_c2c(whole, dim, false, scale));
  });
}

// Numbers of the input that stand for a conjugate too count twice.
void c2r_gradient(Tensor& output, const Tensor& input, int dim, bool, double scale) {
  record("fft_c2r", output, {&input}, [dim, scale](Gradients& g) {
    const Tensor& gradient = g.output();
    const int64_t n = gradient.size(dim), count = n / 2 + 1;
    const Tensor times = full({count}, 2, {.dtype = gradient.dtype(), .device = gradient.device()});
    times.select(0, 0).fill_(1);
    if (n % 2 == 0) times.select(0, count - 1).fill_(1);
    Shape along = Dims::filled(gradient.dim(), 1);
    along[dim] = count;
    g.input() = fft_r2c(gradient, dim, scale) * times.view(along);
  });
}

}  // namespace

void register_fft() {
  fft_c2c_op.set_gradient(c2c_gradient);
  fft_r2c_op.set_gradient(r2c_gradient);
  fft_c2r_op.set_gradient(c2r_gradient);
}

}  // namespace aorta::autograd
