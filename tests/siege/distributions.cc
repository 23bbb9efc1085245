#include <aorta/core/ops/random.h>
#include <aorta/distributions/distributions.h>

#include <aorta/tests/siege/targets.h>
#include <algorithm>

// Distributions, each made of drawn parameters, asked for all it has, and sampled from.
namespace aorta::siege {
namespace {

using namespace distributions;
using T = Tensor;

// What may be asked of every distribution.
Tensors ask(const Distribution& d, const T& value, const Dims& shape) {
  Tensors answers{d.log_prob(value), d.sample(shape)};
  for (const auto& answer : {&Distribution::mean, &Distribution::variance, &Distribution::mode,
                             &Distribution::entropy}) {
    try {
      answers.push_back((d.*answer)());
    } catch (const Error& error) {
      if (std::string(error.what()).find("the distribution must have one") == std::string::npos)
        throw;
    }
  }
  Dims wider{2};
  for (const int64_t size : d.batch_shape()) wider.push_back(size);
  answers.push_back(d.expanded(wider)->log_prob(value));
  return answers;
}

template <class D>
Tensors one(const T& a, const T& value, const Dims& shape) {
  return ask(D(a), value, shape);
}
template <class D>
Tensors two(const T& a, const T& b, const T& value, const Dims& shape) {
  return ask(D(a, b), value, shape);
}
template <class D>
Tensors three(const T& a, const T& b, const T& c, const T& value, const Dims& shape) {
  return ask(D(a, b, c), value, shape);
}
template <class D>
Tensors counted(const T& total, const T& l, const T& value, const Dims& shape) {
  return ask(D(total, {.logits = l}), value, shape);
}
template <class D>
Tensors probs(const T& p, const T& value, const Dims& shape) {
  return ask(D({.probs = p}), value, shape);
}
template <class D>
Tensors logits(const T& l, const T& value, const Dims& shape) {
  return ask(D({.logits = l}), value, shape);
}
template <class D>
Tensors relaxed(double temperature, const T& l, const T& value, const Dims& shape) {
  return ask(D(temperature, {.logits = l}), value, shape);
}

}  // namespace

void add_distributions(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          random_of(
              "set_rng_state",
              +[](const T& state) {
                const T before = get_rng_state();
                set_rng_state(state);
                set_rng_state(before);
                return before;
              }),
          random_of("Normal", two<Normal>),
          random_of("LogNormal", two<LogNormal>),
          random_of("HalfNormal", one<HalfNormal>),
          random_of("Uniform", two<Uniform>),
          random_of("Exponential", one<Exponential>),
          random_of("Laplace", two<Laplace>),
          random_of("Gumbel", two<Gumbel>),
          random_of("Cauchy", two<Cauchy>),
          random_of("Poisson", one<Poisson>),
          random_of("Gamma", two<Gamma>),
          random_of("Chi2", one<Chi2>),
          random_of("Beta", two<Beta>),
          random_of("Dirichlet", one<Dirichlet>),
          random_of("StudentT", two<StudentT>),
          random_of("Bernoulli", probs<Bernoulli>),
          random_of("Bernoulli of logits", logits<Bernoulli>),
          random_of("Geometric", probs<Geometric>),
          random_of("Categorical", probs<Categorical>),
          random_of("Categorical of logits", logits<Categorical>),
          random_of("OneHotCategorical", logits<OneHotCategorical>),
          random_of("OneHotCategoricalStraightThrough", logits<OneHotCategoricalStraightThrough>),
          random_of("RelaxedBernoulli", relaxed<RelaxedBernoulli>),
          random_of("RelaxedOneHotCategorical", relaxed<RelaxedOneHotCategorical>),
          random_of("HalfCauchy", one<HalfCauchy>),
          random_of("Pareto", two<Pareto>),
          random_of("Weibull", two<Weibull>),
          random_of("InverseGamma", two<InverseGamma>),
          random_of("GeneralizedPareto", three<GeneralizedPareto>),
          random_of("FisherSnedecor", two<FisherSnedecor>),
          random_of("Kumaraswamy", two<Kumaraswamy>),
          random_of("LogisticNormal", two<LogisticNormal>),
          random_of("VonMises", two<VonMises>),
          random_of(
              "LKJCholesky",
              +[](int64_t dim, const T& concentration, const T& value, const Dims& shape) {
                return ask(LKJCholesky(std::min<int64_t>(dim, 8), concentration), value, shape);
              }),
          random_of(
              "Wishart",
              +[](const T& df, const T& matrix, const T& value, const Dims& shape) {
                return ask(Wishart(df, {.covariance_matrix = matrix}), value, shape);
              }),
          random_of("ContinuousBernoulli", logits<ContinuousBernoulli>),
          random_of("LowRankMultivariateNormal", three<LowRankMultivariateNormal>),
          random_of("Binomial", counted<Binomial>),
          random_of("NegativeBinomial", counted<NegativeBinomial>),
          random_of(
              "Multinomial",
              +[](int64_t total, const T& l, const T& value, const Dims& shape) {
                // The size of what is drawn is bounded here, as no shape of a sample is.
                return ask(Multinomial(std::min<int64_t>(total, 1000), {.logits = l}), value,
                           shape);
              }),
          random_of(
              "MixtureSameFamily",
              +[](const T& l, const T& loc, const T& scale, const T& value, const Dims& shape) {
                return ask(MixtureSameFamily(Categorical({.logits = l}), Normal(loc, scale)), value,
                           shape);
              }),
          random_of(
              "MultivariateNormal",
              +[](const T& loc, const T& covariance, const T& value, const Dims& shape) {
                return ask(MultivariateNormal(loc, {.covariance_matrix = covariance}), value,
                           shape);
              }),
          random_of(
              "MultivariateNormal of scale_tril",
              +[](const T& loc, const T& tril, const T& value, const Dims& shape) {
                return ask(MultivariateNormal(loc, {.scale_tril = tril}), value, shape);
              }),
          random_of(
              "TransformedDistribution",
              +[](const T& loc, const T& scale, int64_t ndims, const T& value, const Dims& shape) {
                const AffineTransform affine(loc, scale, static_cast<int>(ndims));
                return ask(
                    TransformedDistribution(Normal(loc, exp(scale)), {affine, ExpTransform()}),
                    value, shape);
              }),
          of(
              "kl_divergence",
              +[](const T& a, const T& b, const T& c, const T& d, int64_t ndims) {
                const int last = static_cast<int>(ndims);
                return kl_divergence(Independent(Normal(a, b), last),
                                     Independent(Normal(c, d), last));
              }),
      });
}

}  // namespace aorta::siege
