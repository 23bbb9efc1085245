#include <aorta/core/ops/scan.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <cmath>

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

template <const auto& op>
void extremum_gradient(Tensor& values, const Tensor& input, const Tensor& indices, int dim) {
  record(op.name(), values, {&input}, [dim, places = Saved(indices, 1)](Gradients& g) {
    const Tensor gradient = g.output();
    g.input() = scatter_add(
        zeros(g.input_shape(), {.dtype = gradient.dtype(), .device = gradient.device()}), dim,
        g.saved(places), gradient);
  });
}

// The gradient from the numbers of one sign: e^(x_i) times the sum of g_j / e^(y_j) over j >= i,
// whose terms have no place in a dtype: by their logarithms.
Tensor from_magnitudes(const Tensor& magnitude, const Tensor& x, const Tensor& y, int dim) {
  const Tensor terms = flip(log(magnitude) - y, {dim});
  return exp(flip(logcumsumexp(terms, dim), {dim}) + x);
}

// These sums by pairs (i, j), for gradients of gradients: a logarithm has none at 0.
Tensor from_pairs(const Tensor& g, const Tensor& x, const Tensor& y, int dim) {
  if (x.dim() == 0) return g * exp(x - y);
  const Tensor offsets = movedim(x, dim, -1).unsqueeze(-1) - movedim(y, dim, -1).unsqueeze(-2);
  const int64_t n = x.size(dim);
  const Tensor later = triu(ones({n, n}, {.dtype = DType::boolean, .device = x.device()}));
  const Tensor shares = exp(where(later, offsets, -INFINITY));
  return movedim(matmul(shares, movedim(g, dim, -1).unsqueeze(-1)).squeeze(-1), -1, dim);
}

void logcumsumexp_gradient(Tensor& output, const Tensor& input, int dim) {
  record("logcumsumexp", output, {&input},
         [dim, sx = Saved(input, 0), sy = Saved::output(output)](Gradients& g) {
           const Tensor x = g.saved(sx), y = g.saved(sy);
           g.input() = grad_enabled() ? from_pairs(g.output(), x, y, dim)
                                      : from_magnitudes(relu(g.output()), x, y, dim) -
                                            from_magnitudes(relu(neg(g.output())), x, y, dim);
         });
}

}  // namespace

void register_scan() {
  cummax_op.set_gradient(extremum_gradient<cummax_op>);
  cummin_op.set_gradient(extremum_gradient<cummin_op>);
  logcumsumexp_op.set_gradient(logcumsumexp_gradient);
  cumsum_op.set_gradient(cumsum_gradient);
  cumprod_op.set_gradient(cumprod_gradient);
}

}  // namespace aorta::autograd
