#include <aorta/autograd/function.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/gamma_point.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>

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

struct GammaBends : autograd::Function<GammaBends> {
  static constexpr const char* name = "gamma_bend";
  static std::vector<Tensor> forward(autograd::FunctionContext&, const Tensor& a, const Tensor& x) {
    return {kernel::gamma_point(kernel::GammaPart::bend, a, x)};
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
    const Tensor slope = kernel::gamma_point(kernel::GammaPart::slope, a, x);
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
    return {kernel::gamma_point(kernel::GammaPart::cdf, a, x)};
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
    const Tensor drawn =
        kernel::draw_each(name, body::Distribution::gamma, concentration, {}, generator);
    const Tensor sample = clamp_min(drawn, finfo(drawn.dtype()).tiny);
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
  return StandardGamma::apply(concentration, generator)[0];
}

Tensor binomial_samples(const Tensor& total, const Tensor& probs, Generator* generator) {
  return kernel::draw_each("binomial", body::Distribution::binomial, total, probs, generator);
}

Tensor gamma_cdf(const Tensor& a, const Tensor& x) {
  const Operand operands[] = {a, x};
  const DType dtype = result_type(operands);
  const Shape shape = broadcast_shapes("gamma_cdf", a.shape(), x.shape());
  const Tensor one = a.to(dtype).expand(shape), at = x.to(dtype).expand(shape);
  return GammaCdf::apply(one, at)[0];
}

}  // namespace aorta::distributions
