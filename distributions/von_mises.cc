#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/von_mises.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace aorta::distributions {
namespace {

// I0(k) exp(-k) is the mean of exp(k (cos t - 1)) over angles t. Up to kLarge that of kAngles of
// them between 0 and pi has all digits, for the midpoint rule of a periodic function errs by its
// 2 kAngles-th Fourier coefficient. Beyond stands the series in u = 1/k of sqrt(2 pi k) I0(k)
// exp(-k), of which kTerms are left in f64.
constexpr double kLarge = 64;
constexpr int kAngles = 40, kTerms = 14;
using Series = std::array<double, kTerms>;

constexpr Series series() {
  Series terms{1};
  for (int k = 1; k < kTerms; ++k) terms[k] = terms[k - 1] * (2 * k - 1) * (2 * k - 1) / (8.0 * k);
  return terms;
}

constexpr Series slope_of_series() {
  Series terms{};
  for (int k = 1; k < kTerms; ++k) terms[k - 1] = series()[k] * k;
  return terms;
}

Tensor sum_of(const Series& terms, const Tensor& u) {
  Tensor sum = terms.back() * u;
  for (int k = kTerms - 2; k > 0; --k) sum = (sum + terms[k]) * u;
  return sum + terms[0];
}

// What the formulas are computed from: k, each of them with another where it isn't its part.
struct Concentration {
  explicit Concentration(const Tensor& given)
      : k(given.to(given.dtype() == f64 ? f64 : f32)),
        large(gt(k, kLarge)),
        u(reciprocal(where(large, k, kLarge))) {
    const Tensor half_angles = (arange(kAngles, options_of(k)) + 0.5) * (kPi / (2 * kAngles));
    below = -2 * square(sin(half_angles));
    exponents = where(large, 1.0, k).unsqueeze(-1) * below;
  }
  Tensor k, large, u;
  Tensor below;      // cos t - 1, (kAngles)
  Tensor exponents;  // (*, kAngles)
};

// log I0(k) - k.
Tensor log_bessel(const Concentration& c) {
  const Tensor far = log(sum_of(series(), c.u)) + 0.5 * log(c.u / (2 * kPi));
  return where(c.large, far, logsumexp(c.exponents, {-1}) - std::log(kAngles));
}

}  // namespace

VonMises::VonMises(const Parameter& loc, const Parameter& concentration)
    : DistributionOf("VonMises") {
  const std::vector<Tensor> both =
      broadcast_parameters(name(), {{"loc", loc}, {"concentration", concentration}});
  loc_ = both[0];
  concentration_ = both[1];
  set_shapes(loc_.shape());
  require(name(), "loc", loc_, constraints::real());
  require(name(), "concentration", concentration_, constraints::positive());
}

Tensor VonMises::log_prob(const Tensor& value) const {
  check_value(value);
  const Concentration c(concentration_);
  const Tensor below = -2 * square(sin(0.5 * (value - loc_)));
  return (c.k * below - log_bessel(c) - std::log(2 * kPi)).to(concentration_.dtype());
}

// Less the derivative of log_bessel.
Tensor VonMises::variance() const {
  const Concentration c(concentration_);
  const Tensor near = -sum(softmax(c.exponents, -1) * c.below, {-1});
  const Tensor ratio = sum_of(slope_of_series(), c.u) / sum_of(series(), c.u);
  return where(c.large, c.u * (0.5 + c.u * ratio), near).to(concentration_.dtype());
}

Tensor VonMises::draw(const Shape& sample_shape, Generator* generator) const {
  const Shape shape = extended(sample_shape);
  const Tensor loc = loc_.expand(shape), concentration = concentration_.expand(shape);
  const Tensor angle = kPi + loc.to(f64) +
                       kernel::draw_each(name(), body::Distribution::von_mises,
                                         concentration.to(f64), {}, generator);
  return (angle - 2 * kPi * floor(angle / (2 * kPi)) - kPi).to(loc.dtype());
}

void VonMises::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(batch_shape);
  concentration_ = concentration_.expand(batch_shape);
}

}  // namespace aorta::distributions
