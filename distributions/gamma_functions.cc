#include <aorta/autograd/function.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/random.h>
#include <aorta/core/scalar/gamma_function.h>
#include <aorta/distributions/draws.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aorta::distributions {
Tensor x_log_y(const Tensor& x, const Tensor& y) {
  const Tensor none = logical_and(eq(x, 0), eq(y, 0));
  return x * log(where(none, 1.0, y));
}

namespace {

// Newton's method on log(cdf(z)) = log(p), p <= 1/2: the function is concave and the start lies to
// the left of the root, for cdf(-t) <= exp(-t^2 / 2) / 2, so that each step comes nearer.
struct NormalQuantile : autograd::Function<NormalQuantile> {
  static constexpr const char* name = "normal_quantile";
  static std::vector<Tensor> forward(autograd::FunctionContext& context, const Tensor& p) {
    const Tensor exact = p.to(DType::f64), low = minimum(exact, 1 - exact);
    const Tensor inside = clamp_min(low, 0x1p-1022), wanted = log(inside);
    Tensor z = -sqrt(clamp_min(-2 * log(2 * inside), 0));
    for (int step = 0; step < 12; ++step) {
      const Tensor below = 0.5 * erfc(-z * std::numbers::sqrt2 / 2);
      const Tensor density = exp(-0.5 * square(z) - kHalfLogTwoPi);
      z = z - (log(below) - wanted) * below / density;
    }
    z = where(eq(low, 0), -INFINITY, where(eq(low, 0.5), 0.0, z));
    const Tensor result = where(gt(exact, 0.5), -z, z).to(p.dtype());
    context.save_for_backward({result});
    return {result};
  }
  static std::vector<Tensor> backward(autograd::FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    const Tensor z = context.saved_tensors()[0];
    return {gradients[0] * exp(0.5 * square(z) + kHalfLogTwoPi)};
  }
};

double draw_gamma(double a, Numbers& numbers) {
  if (!std::isfinite(a)) return a;
  // Below 1: a sample of a + 1 times u^(1/a).
  const double boost = a < 1 ? std::exp(std::log(numbers.uniform()) / a) : 1;
  const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double n = numbers.normal(), t = 1 + c * n;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(numbers.uniform()) < 0.5 * n * n + d - d * v + d * std::log(v))
      return boost * d * v;
  }
}

// p <= 1/2.
double draw_binomial(double n, double p, Numbers& numbers) {
  if (n * p < 10) {
    // Coins between one on its side and the next are geometric.
    const double log_other = std::log1p(-p);
    double place = 0, count = 0;
    while (true) {
      place += std::ceil(std::log(numbers.uniform()) / log_other);
      if (!(place <= n)) return count;
      ++count;
    }
  }
  const double spread = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, centre = n * p + 0.5;
  const double alpha = (2.83 + 5.1 / b) * spread, sure = 0.92 - 4.2 / b;
  const double mode = std::floor((n + 1) * p), log_odds = std::log(p / (1 - p));
  const auto log_weight = [&](double k) {
    return k * log_odds - scalar::lgamma(k + 1) - scalar::lgamma(n - k + 1);
  };
  while (true) {
    const double u = numbers.uniform() - 0.5, v = numbers.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + centre);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= sure) return k;
    if (std::log(v * alpha / (a / (us * us) + b)) <= log_weight(k) - log_weight(mode)) return k;
  }
}

struct GammaBends : autograd::Function<GammaBends> {
  static constexpr const char* name = "gamma_bend";
  static std::vector<Tensor> forward(autograd::FunctionContext&, const Tensor& a, const Tensor& x) {
    return {each(a, x, [](double one, double at) { return gamma_point(one, at).bend; })};
  }
  static std::vector<Tensor> backward(autograd::FunctionContext&, const std::vector<Tensor>& g) {
    fail("gamma", "samples and the cdf have two derivatives by the concentration", g[0].shape(),
         " asked for another");
  }
};

struct GammaSlopes : autograd::Function<GammaSlopes> {
  static constexpr const char* name = "gamma_slope";
  static std::vector<Tensor> forward(autograd::FunctionContext& context, const Tensor& a,
                                     const Tensor& x) {
    const Tensor slope =
        each(a, x, [](double one, double at) { return gamma_point(one, at).slope; });
    context.save_for_backward({a, x, slope});
    return {slope};
  }
  // By x the slope times the density has the density's derivative by a, but for its sign.
  static std::vector<Tensor> backward(autograd::FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    const std::vector<Tensor> saved = context.saved_tensors();
    const Tensor &a = saved[0], &slope = saved[2], &g = gradients[0];
    const Tensor none = le(saved[1], 0), x = where(none, 1.0, saved[1]);
    const Tensor by_x = digamma(a) - log(x) - slope * ((a - 1) / x - 1);
    return {context.needs_input_gradient(0) ? g * GammaBends::apply(a, saved[1])[0] : Tensor(),
            where(none, 0.0, g * by_x)};
  }
};

struct GammaCdf : autograd::Function<GammaCdf> {
  static constexpr const char* name = "gamma_cdf";
  static std::vector<Tensor> forward(autograd::FunctionContext& context, const Tensor& a,
                                     const Tensor& x) {
    context.save_for_backward({a, x});
    return {each(a, x, [](double one, double at) { return gamma_point(one, at).cdf; })};
  }
  static std::vector<Tensor> backward(autograd::FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    const std::vector<Tensor> saved = context.saved_tensors();
    const Tensor &a = saved[0], &x = saved[1];
    const Tensor by_x = gradients[0] * exp(x_log_y(a - 1, x) - x - lgamma(a));
    return {context.needs_input_gradient(0) ? -by_x * GammaSlopes::apply(a, x)[0] : Tensor(), by_x};
  }
};

struct StandardGamma : autograd::Function<StandardGamma> {
  static constexpr const char* name = "standard_gamma";
  static std::vector<Tensor> forward(autograd::FunctionContext& context,
                                     const Tensor& concentration, Generator* generator) {
    Numbers numbers(generator);
    const Tensor drawn = each(concentration, [&](double a) { return draw_gamma(a, numbers); });
    const Tensor sample = clamp_min(drawn, tiny_of(drawn.dtype()));
    context.save_for_backward({concentration, sample});
    return {sample};
  }
  static std::vector<Tensor> backward(autograd::FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    const std::vector<Tensor> saved = context.saved_tensors();
    return {gradients[0] * GammaSlopes::apply(saved[0], saved[1])[0]};
  }
};

}  // namespace

Tensor normal_quantile(const Tensor& p) { return NormalQuantile::apply(p)[0]; }

Tensor standard_gamma(const Tensor& concentration, Generator* generator) {
  if (concentration.is_meta()) return empty_like(concentration);
  return StandardGamma::apply(concentration, generator)[0];
}

Tensor binomial_samples(const Tensor& total, const Tensor& probs, Generator* generator) {
  if (probs.is_meta()) return empty_like(probs);
  Numbers numbers(generator);
  return each(total, probs, [&](double n, double p) {
    if (!std::isfinite(n) || !(n > 0) || !(p > 0)) return p > 0 ? n : 0.0;
    if (p > 0.5) return n - (p < 1 ? draw_binomial(n, 1 - p, numbers) : 0);
    return draw_binomial(n, p, numbers);
  });
}

Tensor gamma_cdf(const Tensor& a, const Tensor& x) {
  const Operand operands[] = {a, x};
  const DType dtype = result_type(operands);
  const Shape shape = broadcast_shapes("gamma_cdf", a.shape(), x.shape());
  const Tensor one = a.to(dtype).expand(shape), at = x.to(dtype).expand(shape);
  return one.is_meta() ? empty_like(one) : GammaCdf::apply(one, at)[0];
}

namespace {

// log Gamma(a) less (a - 1/2) log a - a + log(2 pi)/2, for a >= 8: Stirling's series, whose next
// term is below 1e-15.
double stirling_rest(double a) {
  constexpr double kTerms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  double sum = 0;
  for (size_t k = std::size(kTerms); k-- > 0;) sum = sum / (a * a) + kTerms[k];
  return sum / a;
}

// x^(a - 1) exp(-x) / Gamma(a); from 8 on with Stirling's series for Gamma, so that no large
// numbers cancel.
double gamma_density(double a, double x) {
  if (a < 8) return std::exp((a - 1) * std::log(x) - x - scalar::lgamma(a));
  const double u = (x - a) / a;
  return std::exp(a * (std::log1p(u) - u) - stirling_rest(a)) *
         std::sqrt(a / (2 * std::numbers::pi)) / x;
}

}  // namespace

// Each of the two sums has terms of one sign on its side of x = a.
GammaPoint gamma_point(double a, double x) {
  if (!(x > 0) || !std::isfinite(a) || !std::isfinite(x)) return {x > 0 ? 1.0 : 0.0, 0, 0};
  if (a > 1e8) {
    // Cornish's and Fisher's expansion: the next terms are below 1e-12.
    const double root = std::sqrt(a), y = (x - a) / root, square = y * y;
    const double z =
        y - (square - 1) / (3 * root) + y * (4 * square - 7) / (9 * a) - y * (square - 3) / (4 * a);
    const double slope = 1 + z / (2 * root);
    const double bend = -z / (4 * a * root) - slope * (1 - 2 * y / (3 * root)) / (2 * a);
    return {0.5 * std::erfc(-z / std::numbers::sqrt2), slope, bend};
  }
  const double psi_a = scalar::digamma(a), log_x = std::log(x);
  const double density = gamma_density(a, x);
  double ratio = 0, slope = 0, bend = 0;
  if (x <= a) {
    // P / p = sum of x^(n + 1) / (a (a + 1) ... (a + n)), and the derivative of the logarithm of
    // its terms times p is log x - psi(a + n + 1), whose derivative is -psi1(a + n + 1).
    double term = x / a, psi = scalar::digamma(a + 1), psi1 = scalar::polygamma(1, a + 1);
    for (double n = 1; n < 1e7; ++n) {
      ratio += term;
      slope += term * (psi - log_x);
      bend += term * (psi1 - (psi - log_x) * (psi - psi_a));
      term *= x / (a + n);
      psi += 1 / (a + n);
      psi1 -= 1 / ((a + n) * (a + n));
      if (term * (psi - log_x) < 1e-17 * slope) break;
    }
    return {density * ratio, slope, bend};
  }
  // (1 - P) / p = integral of (1 + s / x)^(a - 1) exp(-s) over s > 0, whose derivative by a times p
  // has log(x + s) - psi(a) in it, and the next one -psi1(a); by the trapezoid rule on s = scale
  // exp(pi/2 sinh t).
  const double psi1_a = scalar::polygamma(1, a);
  const double fall = 1 - (a - 1) / x;
  const double scale = a > 1 ? 1 / (fall + std::sqrt(0.5 * (a - 1)) / x) : 1;
  constexpr double kStep = 1.0 / 16;
  for (int i = -63; i <= 72; ++i) {
    const double t = kStep * i;
    const double s = scale * std::exp(0.5 * std::numbers::pi * std::sinh(t));
    const double power = (a - 1) * std::log1p(s / x) - s;
    if (!(power > -45)) break;  // the rest is below 1e-19
    const double part = std::exp(power) * s * 0.5 * std::numbers::pi * std::cosh(t) * kStep;
    ratio += part;
    const double rise = std::log(x + s) - psi_a;
    slope += part * rise;
    bend += part * (rise * std::log1p(s / x) - psi1_a);
  }
  return {1 - density * ratio, slope, bend};
}

}  // namespace aorta::distributions
