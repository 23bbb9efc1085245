#include <aorta/core/ops/reduction.h>

#include <aorta/autograd/functions/pick.h>
#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>

#include <algorithm>
#include <cmath>

namespace aorta::autograd {
namespace {

// A result, or its gradient, with the reduced dimensions back as size 1.
Tensor with_dims(const Tensor& reduced, const Dims& dims, bool keepdim) {
  if (keepdim || dims.empty()) return reduced;
  Shape shape = reduced.shape();
  for (int64_t dim : dims) shape.insert(static_cast<int>(dim), 1);
  return reduced.view(shape);
}

int64_t count_of(const Shape& shape, const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= shape[static_cast<int>(dim)];
  return count;
}

void sum_gradient(Tensor& output, const Tensor& input, const Dims& dims, bool keepdim) {
  record("sum", output, {&input}, [dims, keepdim](Gradients& g) {
    g.input() = with_dims(g.output(), dims, keepdim).expand(g.input_shape());
  });
}

void mean_gradient(Tensor& output, const Tensor& input, const Dims& dims, bool keepdim) {
  record("mean", output, {&input}, [dims, keepdim](Gradients& g) {
    const double count = static_cast<double>(count_of(g.input_shape(), dims));
    g.input() = with_dims(g.output() * (1 / count), dims, keepdim).expand(g.input_shape());
  });
}

// The reduced dimensions as one, the last; `restore` undoes it.
struct AsLast {
  AsLast(const Shape& shape, const Dims& dims) {
    for (int d = 0; d < shape.size(); ++d) {
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
    }
    for (int64_t dim : dims) order.push_back(dim);
    inverse = order;
    for (int i = 0; i < order.size(); ++i) {
      inverse[static_cast<int>(order[i])] = i;
      moved.push_back(shape[static_cast<int>(order[i])]);
    }
    for (int i = 0; i < shape.size() - dims.size(); ++i) lines.push_back(moved[i]);
    lines.push_back(count_of(shape, dims));
  }
  Tensor apply(const Tensor& x) const { return x.permute(order).reshape(lines); }
  Tensor restore(const Tensor& x) const { return x.reshape(moved).permute(inverse); }

  Dims order, inverse;
  Shape moved, lines;
};

// The product of all the others along the last dimension: of those before times those after.
Tensor product_of_others(const Tensor& x) {
  const int64_t n = x.size(-1);
  if (n == 0) return x;
  const Tensor one = ones_like(x.narrow(-1, 0, 1));
  const Tensor before = cat({one, cumprod(x.narrow(-1, 0, n - 1), -1)}, -1);
  const Tensor backward = flip(x.narrow(-1, 1, n - 1), {-1});
  const Tensor after = flip(cat({one, cumprod(backward, -1)}, -1), {-1});
  return before * after;
}

void prod_gradient(Tensor& output, const Tensor& input, const Dims& dims, bool keepdim) {
  record("prod", output, {&input},
         [dims, keepdim, x = Saved(input, 0), y = Saved::output(output)](Gradients& g) {
           const Tensor factors = g.saved(x);
           const Tensor gradient = with_dims(g.output(), dims, keepdim);
           if (factors.dim() == 0) {
             g.input() = gradient;
           } else if (factors.numel() == 0 ||
                      (!factors.is_meta() && all(factors.detach()).item<bool>())) {
             g.input() = gradient * (with_dims(g.saved(y), dims, keepdim) / factors);
           } else {
             const AsLast last(factors.shape(), dims);
             g.input() = gradient * last.restore(product_of_others(last.apply(factors)));
           }
         });
}

// Shared evenly among equals.
Tensor share_among(const Tensor& is_chosen, const Tensor& gradient, const Dims& dims) {
  const Tensor mask = is_chosen.to(gradient.dtype());
  return mask * (gradient / sum(mask, dims, true));
}

template <const char* const& name>
void extremum_gradient(Tensor& output, const Tensor& input, const Dims& dims, bool keepdim) {
  record(name, output, {&input},
         [dims, keepdim, x = Saved(input, 0), y = Saved::output(output)](Gradients& g) {
           const Tensor chosen = eq(g.saved(x), with_dims(g.saved(y), dims, keepdim));
           g.input() = share_among(chosen, with_dims(g.output(), dims, keepdim), dims);
         });
}
constexpr const char* kAmax = "amax";
constexpr const char* kAmin = "amin";

void logsumexp_gradient(Tensor& output, const Tensor& input, const Dims& dims, bool keepdim) {
  record("logsumexp", output, {&input},
         [dims, keepdim, x = Saved(input, 0), y = Saved::output(output)](Gradients& g) {
           const Tensor total = with_dims(g.saved(y), dims, keepdim);
           const Tensor reached = where(eq(total, -INFINITY), 0, total);  // of nothing but -inf
           g.input() = with_dims(g.output(), dims, keepdim) * exp(g.saved(x) - reached);
         });
}

double freedom(const Shape& shape, const Dims& dims, double correction) {
  return std::max(0.0, static_cast<double>(count_of(shape, dims)) - correction);
}

Tensor deviation(const Tensor& x, const Dims& dims) { return x - mean(x, dims, true); }

void var_gradient(Tensor& output, const Tensor& input, const Dims& dims, double correction,
                  bool keepdim) {
  record("var", output, {&input}, [dims, correction, keepdim, x = Saved(input, 0)](Gradients& g) {
    const double scale = 2 / freedom(g.input_shape(), dims, correction);
    g.input() = with_dims(g.output() * scale, dims, keepdim) * deviation(g.saved(x), dims);
  });
}

void std_gradient(Tensor& output, const Tensor& input, const Dims& dims, double correction,
                  bool keepdim) {
  record("std", output, {&input},
         [dims, correction, keepdim, x = Saved(input, 0), y = Saved::output(output)](Gradients& g) {
           const double scale = 1 / freedom(g.input_shape(), dims, correction);
           const Tensor spread = g.saved(y);
           const Tensor slope = where(eq(spread, 0), 0, g.output() * scale / spread);
           g.input() = with_dims(slope, dims, keepdim) * deviation(g.saved(x), dims);
         });
}

void var_mean_gradient(Tensor& var, Tensor& mean, const Tensor& input, const Dims& dims,
                       double correction, bool keepdim) {
  record("var_mean", {&var, &mean}, {&input},
         [dims, correction, keepdim, x = Saved(input, 0)](Gradients& g) {
           const Shape& shape = g.input_shape();
           Tensor gradient;
           if (g.has_output(0)) {
             const double scale = 2 / freedom(shape, dims, correction);
             gradient = with_dims(g.output(0) * scale, dims, keepdim) * deviation(g.saved(x), dims);
           }
           if (g.has_output(1)) {
             const double count = static_cast<double>(count_of(shape, dims));
             const Tensor of_mean =
                 with_dims(g.output(1) * (1 / count), dims, keepdim).expand(shape);
             gradient = gradient.defined() ? gradient + of_mean : of_mean;
           }
           g.input() = gradient;
         });
}

// The gradient is 0 where the norm is, a subgradient.
Tensor norm_backward(const Tensor& g, const Tensor& x, const Tensor& y, double p,
                     const Dims& dims) {
  if (p == 0) return {};
  if (p == 1) return sign(x) * g;
  if (std::isinf(p)) return sign(x) * share_among(eq(abs(x), y), g, dims);
  const Tensor flat = eq(y, 0);
  if (p == 2) return g * where(flat, 0, x / y);  // at most 1 by one, whatever g is
  const Tensor slope = where(eq(x, 0), 0, sign(x) * pow(abs(x), p - 1));
  return slope * where(flat, 0, g / pow(y, p - 1));
}

void norm_gradient(Tensor& output, const Tensor& input, double p, const Dims& dims, bool keepdim) {
  record("norm", output, {&input},
         [p, dims, keepdim, x = Saved(input, 0), y = Saved::output(output)](Gradients& g) {
           g.input() = norm_backward(with_dims(g.output(), dims, keepdim), g.saved(x),
                                     with_dims(g.saved(y), dims, keepdim), p, dims);
         });
}

}  // namespace

void pick_gradient(Tensor& values, const Tensor& input, const Tensor& indices, int dim,
                   bool keepdim) {
  record("pick", values, {&input}, [dim, keepdim, places = Saved(indices, 1)](Gradients& g) {
    Tensor gradient = g.output(), index = g.saved(places);
    if (!keepdim && g.input_shape().size() > 0) {
      gradient = gradient.unsqueeze(dim);
      index = index.unsqueeze(dim);
    }
    g.input() =
        scatter(zeros(g.input_shape(), {.dtype = gradient.dtype(), .device = gradient.device()}),
                dim, index, gradient);
  });
}

void register_reduction() {
  sum_op.set_gradient(sum_gradient);
  mean_op.set_gradient(mean_gradient);
  prod_op.set_gradient(prod_gradient);
  amax_op.set_gradient(extremum_gradient<kAmax>);
  amin_op.set_gradient(extremum_gradient<kAmin>);
  logsumexp_op.set_gradient(logsumexp_gradient);
  var_op.set_gradient(var_gradient);
  std_op.set_gradient(std_gradient);
  var_mean_op.set_gradient(var_mean_gradient);
  norm_op.set_gradient(norm_gradient);
  max_op.set_gradient(pick_gradient);
  min_op.set_gradient(pick_gradient);
}

}  // namespace aorta::autograd
