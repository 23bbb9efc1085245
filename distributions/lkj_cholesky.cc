#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma.h>
#include <aorta/distributions/lkj_cholesky.h>

#include <cmath>

namespace aorta::distributions {

LKJCholesky::LKJCholesky(int64_t dim, const Parameter& concentration)
    : DistributionOf("LKJCholesky"), dim_(dim) {
  check(dim >= 2, name(), "dim must be at least 2", dim);
  concentration_ = broadcast_parameters(name(), {{"concentration", concentration}})[0];
  set_shapes(concentration_.shape(), {dim, dim});
  require(name(), "concentration", concentration_, constraints::positive());
}

// A row's numbers before the diagonal are a point of the ball, whose density is a power of 1 less
// the squared length l: l is a beta variable, and the direction any.
Tensor LKJCholesky::halves() const {
  return 0.5 * (arange(dim_ - 1, options_of(concentration_)) + 1);
}
Tensor LKJCholesky::powers() const {
  return concentration_.unsqueeze(-1) + 0.5 * static_cast<double>(dim_ - 1) - halves();
}

Tensor LKJCholesky::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor m = halves(), b = powers(), lengths = diagonal(value, 0, -2, -1);
  const Tensor density = 2 * (b - 1) * log(lengths.narrow(-1, 1, dim_ - 1));
  return sum(density - lgamma(b) + lgamma(b + m) - m * std::log(kPi), {-1});
}

Tensor LKJCholesky::draw(const Shape& sample_shape, Generator* generator) const {
  const int64_t rows = dim_ - 1;
  Shape shape = extended(sample_shape);
  shape[shape.size() - 2] = rows;
  const Tensor normal = randn(shape, options_of(concentration_), generator);
  const Tensor noise = tril(where(eq(normal, 0), 1.0, normal));  // every row has a direction
  const Tensor length = Beta(halves(), powers()).sample(sample_shape, generator);
  const Tensor scale = sqrt(length) * rsqrt(sum(square(noise), {-1}));
  const Tensor first = zeros_like(noise.narrow(-2, 0, 1));
  const Tensor one = ones_like(length.narrow(-1, 0, 1));
  return cat({first, noise * scale.unsqueeze(-1)}, -2) +
         diag_embed(cat({one, sqrt(1 - length)}, -1));
}

void LKJCholesky::expand_to(const Shape& batch_shape) {
  concentration_ = concentration_.expand(batch_shape);
}

}  // namespace aorta::distributions
