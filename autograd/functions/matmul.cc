#include <aorta/core/ops/matmul.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

Tensor transposed(const Tensor& matrices) { return matrices.transpose(-2, -1); }

// matmul(a, b), where it has sums: an outer product is a multiplication, of a dot product's
// gradient say.
Tensor product_of(const Tensor& a, const Tensor& b) {
  return a.size(-1) == 1 ? a * b : matmul(a, b);
}

void matmul_gradient(Tensor& output, const Tensor& a, const Tensor& b) {
  record("matmul", output, {&a, &b},
         [x = Saved::if_wanted(a, 0, b.requires_grad()),
          y = Saved::if_wanted(b, 1, a.requires_grad())](Gradients& g) {
           if (g.wanted(0)) g.input(0) = product_of(g.output(), transposed(g.saved(y)));
           if (g.wanted(1)) g.input(1) = product_of(transposed(g.saved(x)), g.output());
         });
}

void addmm_gradient(Tensor& output, const Tensor& input, const Tensor& a, const Tensor& b,
                    const AddmmOptions& options) {
  record("addmm", output, {&input, &a, &b},
         [x = Saved::if_wanted(a, 1, b.requires_grad()),
          y = Saved::if_wanted(b, 2, a.requires_grad()), options](Gradients& g) {
           if (g.wanted(0)) g.input(0) = g.output() * options.beta;
           if (!g.wanted(1) && !g.wanted(2)) return;
           const Tensor scaled =
               options.alpha.to_double() == 1 ? g.output() : g.output() * options.alpha;
           if (g.wanted(1)) g.input(1) = matmul(scaled, transposed(g.saved(y)));
           if (g.wanted(2)) g.input(2) = matmul(transposed(g.saved(x)), scaled);
         });
}

// (*, n) as a matrix (rows, n).
Tensor as_rows(const Tensor& tensor) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < tensor.dim(); ++i) rows *= tensor.size(i);
  return tensor.reshape(
      {rows, tensor.size(-1)});  // -1 wouldn't say how many, where there is nothing
}

void linear_gradient(Tensor& output, const Tensor& input, const Tensor& weight,
                     const Tensor& bias) {
  record("linear", output, {&input, &weight, &bias},
         [x = Saved::if_wanted(input, 0, weight.requires_grad()),
          w = Saved::if_wanted(weight, 1, input.requires_grad())](Gradients& g) {
           if (g.wanted(0)) g.input(0) = matmul(g.output(), g.saved(w));
           if (g.wanted(1))
             g.input(1) = matmul(transposed(as_rows(g.output())), as_rows(g.saved(x)));
           if (g.wanted(2)) g.input(2) = sum_to_size(g.output(), g.input_shape(2));
         });
}

}  // namespace

void register_matmul() {
  matmul_op.set_gradient(matmul_gradient);
  addmm_op.set_gradient(addmm_gradient);
  linear_op.set_gradient(linear_gradient);
}

}  // namespace aorta::autograd
