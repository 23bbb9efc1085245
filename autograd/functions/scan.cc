#include <aorta/core/ops/scan.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

Tensor sum_from_end(const Tensor& tensor, int dim) {
  return flip(cumsum(flip(tensor, {dim}), dim), {dim});
}

void cumsum_gradient(Tensor& output, const Tensor& input, int dim) {
  record("cumsum", output, {&input},
         [dim](Gradients& g) { g.input() = sum_from_end(g.output(), dim); });
}

// dx_i = (prod_{j<i} x_j) R_i with R_i = g_i + x_{i+1} R_{i+1}: right also where factors are 0.
Tensor cumprod_backward_with_zeros(const Tensor& g, const Tensor& x, const Tensor& y, int dim) {
  const int64_t n = x.size(dim);
  std::vector<Tensor> parts(static_cast<size_t>(n));
  Tensor rest = g.select(dim, n - 1);
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i < n - 1) rest = g.select(dim, i) + x.select(dim, i + 1) * rest;
    parts[static_cast<size_t>(i)] = i == 0 ? rest : y.select(dim, i - 1) * rest;
  }
  return stack(parts, dim);
}

void cumprod_gradient(Tensor& output, const Tensor& input, int dim) {
  record("cumprod", output, {&input},
         [dim, x = Saved(input, 0), y = Saved::output(output)](Gradients& g) {
           const Tensor factors = g.saved(x), products = g.saved(y);
           const bool zeros =
               factors.numel() > 0 && (factors.is_meta() || !all(factors.detach()).item<bool>());
           g.input() = zeros && factors.dim() > 0
                           ? cumprod_backward_with_zeros(g.output(), factors, products, dim)
                       : factors.dim() == 0 ? g.output()
                                            : sum_from_end(g.output() * products, dim) / factors;
         });
}

}  // namespace

void register_scan() {
  cumsum_op.set_gradient(cumsum_gradient);
  cumprod_op.set_gradient(cumprod_gradient);
}

}  // namespace aorta::autograd
