#pragma once

#include <aorta/core/tensor.h>

// What gamma distributions, their samples and quantiles need beside core's special functions.

namespace aorta::distributions {

/// xlogy, but where x and y are 0 its gradients are 0, too.
Tensor x_log_y(const Tensor& x, const Tensor& y);

/// The p-quantile of the standard normal distribution, p in [0, 1].
Tensor normal_quantile(const Tensor& p);

/// The cdf P(a, x) of the gamma distribution of rate 1, of tensors a > 0 and x >= 0 that broadcast;
/// differentiable by x, and twice by a.
Tensor gamma_cdf(const Tensor& a, const Tensor& x);

/// A sample of the gamma distribution of rate 1 for each element of `concentration`, at least the
/// dtype's smallest normal number (Marsaglia, Tsang 2000), differentiable twice, by the slope of
/// core/body/gamma_point.h.
Tensor standard_gamma(const Tensor& concentration, Generator* generator);
/// How many of `total` coins fall on their side of probability `probs`, of tensors of one shape:
/// the steps from one to the next below a mean of 10, transformed rejection from there on (BTRS,
/// Hoermann 1993).
Tensor binomial_samples(const Tensor& total, const Tensor& probs, Generator* generator);

}  // namespace aorta::distributions
