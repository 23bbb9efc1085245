#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/rearrange.h>

namespace aorta::autograd {
namespace {

void flip_gradient(Tensor& output, const Tensor& input, const Dims& dims) {
  record("flip", output, {&input}, [dims](Gradients& g) { g.input() = flip(g.output(), dims); });
}

void roll_gradient(Tensor& output, const Tensor& input, const Dims& shifts, const Dims& dims) {
  Dims back = shifts;
  for (int64_t& shift : back) shift = -shift;
  record("roll", output, {&input},
         [back, dims](Gradients& g) { g.input() = roll(g.output(), back, dims); });
}

// Every element gets the sum of the gradients of its copies, dimension by dimension.
Tensor fold_padding(const Tensor& gradient, const Shape& shape, const Dims& padding, PadMode mode) {
  Tensor folded = gradient;
  for (int i = 0; 2 * i < padding.size(); ++i) {
    const int dim = shape.size() - 1 - i;
    if (padding[2 * i] == 0 && padding[2 * i + 1] == 0) continue;
    const Tensor places = arange(shape[dim], {.dtype = DType::i64, .device = gradient.device()});
    Shape narrow = folded.shape();
    narrow[dim] = shape[dim];
    folded = index_add(zeros(narrow, {.dtype = gradient.dtype(), .device = gradient.device()}), dim,
                       pad(places, {padding[2 * i], padding[2 * i + 1]}, mode), folded);
  }
  return folded;
}

void pad_gradient(Tensor& output, const Tensor& input, const Dims& padding, PadMode mode) {
  record("pad", output, {&input}, [padding, mode](Gradients& g) {
    if (mode != PadMode::constant) {
      g.input() = fold_padding(g.output(), g.input_shape(), padding, mode);
      return;
    }
    Dims crop = padding;
    for (int64_t& size : crop) size = -size;
    g.input() = pad(g.output(), crop);
  });
}

void tril_gradient(Tensor& output, const Tensor& input, int64_t diagonal) {
  record("tril", output, {&input},
         [diagonal](Gradients& g) { g.input() = tril(g.output(), diagonal); });
}

void triu_gradient(Tensor& output, const Tensor& input, int64_t diagonal) {
  record("triu", output, {&input},
         [diagonal](Gradients& g) { g.input() = triu(g.output(), diagonal); });
}

}  // namespace

void register_rearrange() {
  flip_op.set_gradient(flip_gradient);
  roll_op.set_gradient(roll_gradient);
  pad_op.set_gradient(pad_gradient);
  tril_op.set_gradient(tril_gradient);
  triu_op.set_gradient(triu_gradient);
}

}  // namespace aorta::autograd
