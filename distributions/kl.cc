#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/bernoulli.h>
#include <aorta/distributions/binomial.h>
#include <aorta/distributions/categorical.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/distributions/heavy_tailed.h>
#include <aorta/distributions/independent.h>
#include <aorta/distributions/kl.h>
#include <aorta/distributions/location_scale.h>
#include <aorta/distributions/logistic_normal.h>
#include <aorta/distributions/low_rank_multivariate_normal.h>
#include <aorta/distributions/multivariate_normal.h>
#include <aorta/distributions/normal.h>
#include <aorta/distributions/poisson.h>
#include <aorta/distributions/transformed_distribution.h>
#include <aorta/distributions/unit_interval.h>
#include <aorta/distributions/wishart.h>

#include <cmath>
#include <mutex>
#include <numbers>

namespace aorta::distributions {
namespace {

// Most divergences are the negative entropy of p minus the mean of log q over samples of p, which
// takes the mean of what q's density has of x: x itself, its square, an exponential.

Tensor infinite(const Distribution& p, const Distribution& q) {
  const Tensor like = p.mean();
  return full(broadcast_shapes("kl_divergence", p.batch_shape(), q.batch_shape()), INFINITY,
              options_of(like));
}

void check_events(const Distribution& p, const Distribution& q) {
  check(p.event_shape() == q.event_shape(), "kl_divergence", "both must have one event_shape",
        p.event_shape(), " and ", q.event_shape());
}

Tensor infinite_where(const Tensor& condition, const Tensor& divergence) {
  return where(condition, INFINITY, divergence);
}

// p log(p / q) of probabilities, of which logarithms of the quotients are given: 0 where p is 0,
// inf where q alone is.
Tensor weighted(const Tensor& p, const Tensor& log_quotient, const Tensor& q) {
  return where(eq(p, 0), 0, infinite_where(eq(q, 0), p * log_quotient));
}

Tensor bernoulli_bernoulli(const Bernoulli& p, const Bernoulli& q) {
  const Tensor a = p.logits(), b = q.logits(), pp = p.probs(), qp = q.probs();
  return weighted(pp, logsigmoid(a) - logsigmoid(b), qp) +
         weighted(1 - pp, logsigmoid(-a) - logsigmoid(-b), 1 - qp);
}

Tensor categorical_categorical(const Categorical& p, const Categorical& q) {
  check(p.num_events() == q.num_events(), "kl_divergence", "both must have as many classes",
        p.num_events(), " and ", q.num_events());
  return sum(weighted(p.probs(), p.logits() - q.logits(), q.probs()), {-1});
}

Tensor any_normal(const Distribution& p, const Normal& q) {
  const Tensor variance = square(q.scale());
  return -p.entropy() + log(q.scale()) + 0.5 * std::log(2 * kPi) +
         (p.variance() + square(p.mean() - q.loc())) / (2 * variance);
}

Tensor normal_normal(const Normal& p, const Normal& q) {
  const Tensor ratio = square(p.scale() / q.scale());
  return 0.5 * (ratio + square((p.loc() - q.loc()) / q.scale()) - 1 - log(ratio));
}

Tensor any_exponential(const Distribution& p, const Exponential& q) {
  return -p.entropy() - log(q.rate()) + q.rate() * p.mean();
}

// p, and where q lacks some of its values another one, so that what stands behind infinity is
// finite and its gradients are 0.
Uniform inside(const Tensor& outside, const Uniform& p) {
  return {where(outside, 0.25, p.low()), where(outside, 0.75, p.high())};
}

Tensor uniform_exponential(const Uniform& p, const Exponential& q) {
  const Tensor outside = lt(p.low(), 0);
  return infinite_where(outside, any_exponential(inside(outside, p), q));
}

// `exponent` is the logarithm of the mean of exp(-x / scale) over samples of p.
Tensor any_gumbel(const Distribution& p, const Gumbel& q, const Tensor& exponent) {
  return -p.entropy() + log(q.scale()) + (p.mean() - q.loc()) / q.scale() +
         exp(q.loc() / q.scale() + exponent);
}

Tensor normal_gumbel(const Normal& p, const Gumbel& q) {
  return any_gumbel(p, q, 0.5 * square(p.scale() / q.scale()) - p.loc() / q.scale());
}

Tensor exponential_gumbel(const Exponential& p, const Gumbel& q) {
  return any_gumbel(p, q, -log1p(reciprocal(q.scale() * p.rate())));
}

Tensor uniform_gumbel(const Uniform& p, const Gumbel& q) {
  const Tensor width = (p.high() - p.low()) / q.scale();
  return any_gumbel(p, q, log(-expm1(-width) / width) - p.low() / q.scale());
}

Tensor gumbel_gumbel(const Gumbel& p, const Gumbel& q) {
  const Tensor ratio = p.scale() / q.scale();
  return any_gumbel(p, q, lgamma(1 + ratio) - p.loc() / q.scale());
}

Tensor gamma_gumbel(const Gamma& p, const Gumbel& q) {
  return any_gumbel(p, q, -p.concentration() * log1p(reciprocal(q.scale() * p.rate())));
}

// The means of log(x) over samples of p.
Tensor mean_of_log(const Pareto& p) { return log(p.scale()) + reciprocal(p.alpha()); }
Tensor mean_of_log(const Exponential& p) { return -log(p.rate()) - std::numbers::egamma; }
Tensor mean_of_log(const Gamma& p) { return digamma(p.concentration()) - log(p.rate()); }
Tensor mean_of_log(const Beta& p) {
  return digamma(p.concentration1()) - digamma(p.concentration1() + p.concentration0());
}
Tensor mean_of_log(const Uniform& p) {
  return (x_log_y(p.high(), p.high()) - x_log_y(p.low(), p.low())) / (p.high() - p.low()) - 1;
}

template <class P>
Tensor any_gamma(const P& p, const Gamma& q) {
  const Tensor a = q.concentration();
  return -p.entropy() - a * log(q.rate()) + lgamma(a) - (a - 1) * mean_of_log(p) +
         q.rate() * p.mean();
}

Tensor uniform_gamma(const Uniform& p, const Gamma& q) {
  const Tensor outside = lt(p.low(), 0);
  return infinite_where(outside, any_gamma(inside(outside, p), q));
}

// `other` is the mean of log(1 - x).
Tensor any_beta(const Distribution& p, const Beta& q, const Tensor& log_x, const Tensor& other) {
  const Tensor a = q.concentration1(), b = q.concentration0();
  return -p.entropy() + lgamma(a) + lgamma(b) - lgamma(a + b) - (a - 1) * log_x - (b - 1) * other;
}

Tensor beta_beta(const Beta& p, const Beta& q) {
  return any_beta(p, q, mean_of_log(p), mean_of_log(Beta(p.concentration0(), p.concentration1())));
}

Tensor beyond_unit_interval(const Uniform& p) {
  return logical_or(lt(p.low(), 0), gt(p.high(), 1));
}

Tensor uniform_beta(const Uniform& p, const Beta& q) {
  const Tensor outside = beyond_unit_interval(p);
  const Uniform x = inside(outside, p), mirrored(1 - x.high(), 1 - x.low());
  return infinite_where(outside, any_beta(x, q, mean_of_log(x), mean_of_log(mirrored)));
}

// The divergence of any p whose values are those of [0, 1].
Tensor unit_interval_uniform(const Distribution& p, const Uniform& q) {
  return infinite_where(logical_or(gt(q.low(), 0), lt(q.high(), 1)),
                        log(q.high() - q.low()) - p.entropy());
}

Tensor dirichlet_dirichlet(const Dirichlet& p, const Dirichlet& q) {
  check_events(p, q);
  const Tensor a = p.concentration(), b = q.concentration(), total = sum(a, {-1});
  return lgamma(total) - lgamma(sum(b, {-1})) - sum(lgamma(a) - lgamma(b), {-1}) +
         sum((a - b) * (digamma(a) - digamma(total).unsqueeze(-1)), {-1});
}

Tensor poisson_poisson(const Poisson& p, const Poisson& q) {
  return x_log_y(p.rate(), p.rate()) - x_log_y(p.rate(), q.rate()) - p.rate() + q.rate();
}

Tensor bernoulli_poisson(const Bernoulli& p, const Poisson& q) {
  return -p.entropy() - x_log_y(p.probs(), q.rate()) + q.rate();
}

// The mean of |x - q.loc| over samples of a normal distribution.
Tensor normal_laplace(const Normal& p, const Laplace& q) {
  const Tensor z = (p.loc() - q.loc()) / p.scale();
  const Tensor distance =
      p.scale() * (std::sqrt(2 / kPi) * exp(-0.5 * square(z)) + z * erf(z / std::numbers::sqrt2));
  return -p.entropy() + log(2 * q.scale()) + distance / q.scale();
}

Tensor laplace_laplace(const Laplace& p, const Laplace& q) {
  const Tensor distance = abs(p.loc() - q.loc()), ratio = p.scale() / q.scale();
  return ratio * exp(-distance / p.scale()) + distance / q.scale() - log(ratio) - 1;
}

Tensor geometric_geometric(const Geometric& p, const Geometric& q) {
  return -p.entropy() - log1p(-q.probs()) / p.probs() - q.logits();
}

Tensor cauchy_cauchy(const Cauchy& p, const Cauchy& q) {
  return log(square(p.scale() + q.scale()) + square(p.loc() - q.loc())) -
         log(4 * p.scale() * q.scale());
}

Tensor uniform_uniform(const Uniform& p, const Uniform& q) {
  return infinite_where(logical_or(lt(p.low(), q.low()), gt(p.high(), q.high())),
                        log((q.high() - q.low()) / (p.high() - p.low())));
}

Tensor binomial_binomial(const Binomial& p, const Binomial& q) {
  const Tensor a = p.logits(), b = q.logits(), pp = p.probs(), qp = q.probs();
  const Tensor coin = weighted(pp, logsigmoid(a) - logsigmoid(b), qp) +
                      weighted(1 - pp, logsigmoid(-a) - logsigmoid(-b), 1 - qp);
  const Tensor total = p.total_count(), other = q.total_count();
  require("kl_divergence", "total_count of the second distribution", other,
          {"be at most that of the first", [&](const Tensor& x) { return le(x, total); }});
  return infinite_where(gt(total, other), total * coin);
}

// log q is linear in x.
Tensor any_continuous_coin(const Distribution& p, const ContinuousBernoulli& q) {
  return -p.entropy() - q.log_prob(p.mean());
}

Tensor uniform_continuous_coin(const Uniform& p, const ContinuousBernoulli& q) {
  const Tensor outside = beyond_unit_interval(p);
  return infinite_where(outside, any_continuous_coin(inside(outside, p), q));
}

Tensor wishart_wishart(const Wishart& p, const Wishart& q) {
  check_events(p, q);
  return -p.entropy() - q.mean_log_prob(p);
}

Tensor pareto_pareto(const Pareto& p, const Pareto& q) {
  const Tensor ratio = p.scale() / q.scale(), powers = q.alpha() / p.alpha();
  return infinite_where(lt(p.scale(), q.scale()),
                        q.alpha() * log(ratio) - log(powers) + powers - 1);
}

Tensor uniform_pareto(const Uniform& p, const Pareto& q) {
  const Tensor outside = lt(p.low(), q.scale()), x = mean_of_log(inside(outside, p));
  return infinite_where(
      outside, -p.entropy() - log(q.alpha()) - q.alpha() * log(q.scale()) + (q.alpha() + 1) * x);
}

// `divergence`, which takes the mean of x^moment over samples of p: infinite where p has none.
template <class F>
auto of_pareto(double moment, const F& divergence) {
  return [=](const Pareto& p, const auto& q) {
    const Tensor endless = le(p.alpha(), moment);
    const Pareto finite(p.scale(), where(endless, moment + 1, p.alpha()));
    return infinite_where(endless, divergence(finite, q));
  };
}

// The divergence of normal vectors: the mean of log q is that at the mean of p, less half the trace
// of q's precision times p's covariance.
Tensor by_trace(const Distribution& p, const Distribution& q, const Tensor& trace) {
  return -p.entropy() - q.log_prob(p.mean()) + 0.5 * trace;
}

// That trace by Woodbury's formula, of p's covariance F F^T, F (*, n, r), and diag(d), d (*, n).
Tensor trace_over_low_rank(const LowRankMultivariateNormal& q, const Tensor& factor,
                           const Tensor& diagonal) {
  const Tensor of_q = q.cov_diag().unsqueeze(-2), of_p = diagonal.unsqueeze(-2);
  const Tensor scaled = linalg::solve_triangular(
      q.capacitance_tril(), q.cov_factor().transpose(-2, -1) / of_q, {.upper = false});
  return sum(of_p / of_q, {-2, -1}) + sum(square(factor.transpose(-2, -1)) / of_q, {-2, -1}) -
         sum(square(scaled) * of_p, {-2, -1}) - sum(square(matmul(scaled, factor)), {-2, -1});
}

Tensor low_ranks(const LowRankMultivariateNormal& p, const LowRankMultivariateNormal& q) {
  check_events(p, q);
  return by_trace(p, q, trace_over_low_rank(q, p.cov_factor(), p.cov_diag()));
}

Tensor full_low_rank(const MultivariateNormal& p, const LowRankMultivariateNormal& q) {
  check_events(p, q);
  return by_trace(p, q, trace_over_low_rank(q, p.scale_tril(), zeros_like(p.loc())));
}

Tensor low_rank_full(const LowRankMultivariateNormal& p, const MultivariateNormal& q) {
  check_events(p, q);
  const Tensor factor = cat({p.cov_factor(), diag_embed(sqrt(p.cov_diag()))}, -1);
  const Tensor quotient =
      linalg::solve_triangular(q.unbroadcasted_scale_tril(), factor, {.upper = false});
  return by_trace(p, q, sum(square(quotient), {-2, -1}));
}

Tensor multivariate_normals(const MultivariateNormal& p, const MultivariateNormal& q) {
  check_events(p, q);
  const Tensor quotient = linalg::solve_triangular(q.unbroadcasted_scale_tril(),
                                                   p.unbroadcasted_scale_tril(), {.upper = false});
  const Tensor trace = sum(square(quotient), {-2, -1});
  return q.half_log_determinant() - p.half_log_determinant() +
         0.5 * (trace + q.squared_distance(p.loc()) - static_cast<double>(p.event_shape()[0]));
}

Tensor independents(const Independent& p, const Independent& q) {
  check(p.reinterpreted_batch_ndims() == q.reinterpreted_batch_ndims(), "kl_divergence",
        "both must have as many reinterpreted_batch_ndims", p.reinterpreted_batch_ndims(), " and ",
        q.reinterpreted_batch_ndims());
  return sum_rightmost(kl_divergence(p.base_dist(), q.base_dist()), p.reinterpreted_batch_ndims());
}

Tensor transformed(const TransformedDistribution& p, const TransformedDistribution& q) {
  const ComposeTransform f(p.transforms()), g(q.transforms());
  check(f.equals(g), "kl_divergence", "both must have the same transforms", p.transforms().size(),
        " and ", q.transforms().size(), " that differ");
  return kl_divergence(p.base_dist(), q.base_dist());
}

class Table {
 public:
  Table() {
    add<Bernoulli, Bernoulli>(bernoulli_bernoulli);
    add<Categorical, Categorical>(categorical_categorical);
    add<OneHotCategorical, OneHotCategorical>([](const auto& p, const auto& q) {
      return categorical_categorical(p.categorical(), q.categorical());
    });
    add<Geometric, Geometric>(geometric_geometric);
    add<Exponential, Exponential>(any_exponential);
    add<Uniform, Exponential>(uniform_exponential);
    add<Normal, Normal>(normal_normal);
    add<Exponential, Normal>(any_normal);
    add<Gumbel, Normal>(any_normal);
    add<Laplace, Normal>(any_normal);
    add<Uniform, Normal>(any_normal);
    add<LogNormal, LogNormal>(
        [](const auto& p, const auto& q) { return normal_normal(p.base_dist(), q.base_dist()); });
    add<HalfNormal, HalfNormal>([](const auto& p, const auto& q) {
      return normal_normal(Normal(0, p.scale()), Normal(0, q.scale()));
    });
    add<Normal, Gumbel>(normal_gumbel);
    add<Exponential, Gumbel>(exponential_gumbel);
    add<Uniform, Gumbel>(uniform_gumbel);
    add<Normal, Laplace>(normal_laplace);
    add<Laplace, Laplace>(laplace_laplace);
    add<Cauchy, Cauchy>(cauchy_cauchy);
    add<Uniform, Uniform>(uniform_uniform);
    add<Binomial, Binomial>(binomial_binomial);
    add<Pareto, Pareto>(pareto_pareto);
    add<Uniform, Pareto>(uniform_pareto);
    add<Pareto, Exponential>(of_pareto(1, any_exponential));
    add<Pareto, Gamma>(of_pareto(1, any_gamma<Pareto>));
    add<Pareto, Normal>(of_pareto(2, any_normal));
    // One-to-one maps of p and q keep what is between them, and so do halves that are alike.
    add<HalfCauchy, HalfCauchy>([](const auto& p, const auto& q) {
      return cauchy_cauchy(Cauchy(0, p.scale()), Cauchy(0, q.scale()));
    });
    add<InverseGamma, InverseGamma>([](const auto& p, const auto& q) {
      return any_gamma(Gamma(p.concentration(), p.rate()), Gamma(q.concentration(), q.rate()));
    });
    add<LogisticNormal, LogisticNormal>([](const auto& p, const auto& q) {
      return sum(normal_normal(Normal(p.loc(), p.scale()), Normal(q.loc(), q.scale())), {-1});
    });
    add<ContinuousBernoulli, ContinuousBernoulli>(any_continuous_coin);
    add<Beta, ContinuousBernoulli>(any_continuous_coin);
    add<Uniform, ContinuousBernoulli>(uniform_continuous_coin);
    add<ContinuousBernoulli, Exponential>(any_exponential);
    add<ContinuousBernoulli, Normal>(any_normal);
    add<ContinuousBernoulli, Uniform>(unit_interval_uniform);
    add<LowRankMultivariateNormal, LowRankMultivariateNormal>(low_ranks);
    add<LowRankMultivariateNormal, MultivariateNormal>(low_rank_full);
    add<MultivariateNormal, LowRankMultivariateNormal>(full_low_rank);
    add<MultivariateNormal, MultivariateNormal>(multivariate_normals);
    add<Wishart, Wishart>(wishart_wishart);
    add<Independent, Independent>(independents);
    add<TransformedDistribution, TransformedDistribution>(transformed);
    add<Gumbel, Gumbel>(gumbel_gumbel);
    add<Gamma, Gumbel>(gamma_gumbel);
    add<Gamma, Gamma>(any_gamma<Gamma>);
    add<Exponential, Gamma>(any_gamma<Exponential>);
    add<Beta, Gamma>(any_gamma<Beta>);
    add<Uniform, Gamma>(uniform_gamma);
    add<Gamma, Exponential>(any_exponential);
    add<Beta, Exponential>(any_exponential);
    add<Gamma, Normal>(any_normal);
    add<Beta, Normal>(any_normal);
    add<Beta, Beta>(beta_beta);
    add<Uniform, Beta>(uniform_beta);
    add<Beta, Uniform>(unit_interval_uniform);
    add<Dirichlet, Dirichlet>(dirichlet_dirichlet);
    add<Poisson, Poisson>(poisson_poisson);
    add<Bernoulli, Poisson>(bernoulli_poisson);
    add_infinite<Bernoulli, Poisson>();
    add_infinite<Binomial, Poisson>();
    add_infinite<Beta, Exponential, Gamma, Gumbel, Laplace, Normal, Pareto>();
    add_infinite<ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal, Pareto>();
    add_infinite<Uniform, Exponential, Gamma, Gumbel, Laplace, Normal, Pareto>();
    add_infinite<Pareto, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal>();
    add_infinite<Exponential, Gumbel, Laplace, Normal>();
    add_infinite<Gamma, Gumbel, Laplace, Normal>();
  }

  void push_back(detail::Formula formula) {
    const std::lock_guard lock(mutex_);
    formulas_.push_back(std::move(formula));
  }

  /// The last that matches; none when nothing does.
  detail::Divergence find(const Distribution& p, const Distribution& q) const {
    const std::lock_guard lock(mutex_);
    for (auto formula = formulas_.rbegin(); formula != formulas_.rend(); ++formula)
      if (formula->matches(p, q)) return formula->divergence;
    return {};
  }

 private:
  template <class P, class Q, class F>
  void add(const F& divergence) {
    formulas_.push_back(detail::formula<P, Q>(divergence));
  }
  // Each of P has values that Q can't have.
  template <class Q, class... P>
  void add_infinite() {
    (add<P, Q>(infinite), ...);
  }

  mutable std::mutex mutex_;
  std::vector<detail::Formula> formulas_;
};

// The distribution of another class that one of these is.
const Distribution& as_plainer(const Distribution& d) {
  if (const auto* chi2 = dynamic_cast<const Chi2*>(&d)) return chi2->gamma();
  const auto* straight_through = dynamic_cast<const OneHotCategoricalStraightThrough*>(&d);
  return straight_through ? straight_through->one_hot_categorical() : d;
}

Table& table() {
  static Table result;
  return result;
}

}  // namespace

namespace detail {

void register_kl(Formula formula) { table().push_back(std::move(formula)); }

}  // namespace detail

Tensor kl_divergence(const Distribution& p, const Distribution& q) {
  if (const detail::Divergence divergence = table().find(p, q)) return divergence(p, q);
  const Distribution &plain_p = as_plainer(p), &plain_q = as_plainer(q);
  const detail::Divergence divergence = table().find(plain_p, plain_q);
  check(static_cast<bool>(divergence), "kl_divergence", "a formula must be known for the classes",
        p.name(), " and ", q.name());
  return divergence(plain_p, plain_q);
}

}  // namespace aorta::distributions
