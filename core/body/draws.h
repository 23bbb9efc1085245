#pragma once

// Random numbers that take as many uniform ones as it happens: samplers by rejection, in f64. An
// element's numbers are those of a generator of its own, so that it depends on its index alone, as
// in random.h, and a fill takes one block an element from its generator.

#include <aorta/core/body/random.h>
#include <aorta/core/scalar/math.h>

namespace aorta::body {

/// The generator of an element of a fill: its seed and stream are the element's block.
class ElementNumbers {
 public:
  AORTA_INLINE ElementNumbers(const RandomPosition& fill, int64_t element) {
    const scalar::PhiloxWords w = words_of(fill, element);
    seed_ = uint64_t{w.word[1]} << 32 | w.word[0];
    stream_ = uint64_t{w.word[3]} << 32 | w.word[2];
  }
  /// In (0, 1).
  AORTA_INLINE double uniform() {
    const bool second = taken_ % 2 == 1;
    if (!second) words_ = scalar::philox(seed_, stream_, taken_ / 2);
    ++taken_;
    const uint32_t high = second ? words_.word[2] : words_.word[0];
    const uint32_t low = second ? words_.word[3] : words_.word[1];
    return scalar::maximum(scalar::uniform_double(high, low), 0x1p-54);
  }
  AORTA_INLINE double normal() {
    const double radius = scalar::sqrt(-2 * scalar::log(uniform()));
    return radius * scalar::sine_cosine_of_turns(uniform()).cosine;
  }

 private:
  uint64_t seed_, stream_, taken_ = 0;
  scalar::PhiloxWords words_{};
};

/// A count of a rate; what isn't finite and above 0 is given back. Products of uniform numbers
/// below a rate of 10 (Knuth 1969), transformed rejection from there on (PTRS, Hoermann 1993).
struct DrawPoisson {
  AORTA_INLINE double operator()(double rate, double, ElementNumbers& numbers) const {
    if (!scalar::isfinite(rate) || rate <= 0) return rate;
    if (rate < 10) {
      const double least = scalar::exp(-rate);
      double product = numbers.uniform(), count = 0;
      for (; product > least; ++count) product *= numbers.uniform();
      return count;
    }
    const double b = 0.931 + 2.53 * scalar::sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    while (true) {
      const double u = numbers.uniform() - 0.5, v = numbers.uniform(), us = 0.5 - scalar::abs(u);
      const double k = scalar::floor((2 * a / us + b) * u + rate + 0.43);
      if (us >= 0.07 && v <= sure) return k;
      if (k < 0 || (us < 0.013 && v > us)) continue;
      if (scalar::log(v * inverse_alpha / (a / (us * us) + b)) <=
          k * scalar::log(rate) - rate - scalar::lgamma(k + 1))
        return k;
    }
  }
};

/// Gamma of a concentration, with rate 1 (Marsaglia, Tsang 2000). What isn't finite is given back,
/// and NaN for what is negative, of which no candidate would ever be taken.
struct DrawGamma {
  AORTA_INLINE double operator()(double concentration, double, ElementNumbers& numbers) const {
    if (!scalar::isfinite(concentration)) return concentration;
    if (concentration < 0) return scalar::sqrt(concentration);
    // Below 1: a sample of a + 1 times u^(1/a).
    const bool small = concentration < 1;
    const double boost = small ? scalar::exp(scalar::log(numbers.uniform()) / concentration) : 1;
    const double d = (small ? concentration + 1 : concentration) - 1.0 / 3;
    const double c = 1 / scalar::sqrt(9 * d);
    while (true) {
      const double n = numbers.normal(), t = 1 + c * n;
      if (t <= 0) continue;
      const double v = t * t * t;
      if (scalar::log(numbers.uniform()) < 0.5 * n * n + d - d * v + d * scalar::log(v))
        return boost * d * v;
    }
  }
};

/// How many of `total` coins fall on their side of probability `p`: the steps from one to the next
/// below a mean of 10, transformed rejection from there on (BTRS, Hoermann 1993).
struct DrawBinomial {
  AORTA_INLINE double operator()(double total, double p, ElementNumbers& numbers) const {
    if (!scalar::isfinite(total) || !(total > 0) || !(p > 0)) return p > 0 ? total : 0.0;
    if (p >= 1) return total;
    const double drawn = draw(total, p > 0.5 ? 1 - p : p, numbers);
    return p > 0.5 ? total - drawn : drawn;
  }

 private:
  // p <= 1/2.
  static AORTA_INLINE double draw(double n, double p, ElementNumbers& numbers) {
    if (n * p < 10) {
      // Coins between one on its side and the next are geometric.
      const double log_other = scalar::log1p(-p);
      double place = 0, count = 0;
      while (true) {
        place += scalar::ceil(scalar::log(numbers.uniform()) / log_other);
        if (!(place <= n)) return count;
        ++count;
      }
    }
    const double spread = scalar::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spread;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p, centre = n * p + 0.5;
    const double alpha = (2.83 + 5.1 / b) * spread, sure = 0.92 - 4.2 / b;
    const double mode = scalar::floor((n + 1) * p), log_odds = scalar::log(p / (1 - p));
    const auto log_weight = [&](double k) {
      return k * log_odds - scalar::lgamma(k + 1) - scalar::lgamma(n - k + 1);
    };
    const double largest = log_weight(mode);
    while (true) {
      const double u = numbers.uniform() - 0.5, v = numbers.uniform(), us = 0.5 - scalar::abs(u);
      const double k = scalar::floor((2 * a / us + b) * u + centre);
      if (k < 0 || k > n) continue;
      if (us >= 0.07 && v <= sure) return k;
      if (scalar::log(v * alpha / (a / (us * us) + b)) <= log_weight(k) - largest) return k;
    }
  }
};

/// An angle around 0, in [-pi, pi], of a concentration: von Mises's (Best, Fisher 1979).
struct DrawVonMises {
  AORTA_INLINE double operator()(double k, double, ElementNumbers& numbers) const {
    // Candidates are of a wrapped Cauchy distribution: with z = cos(pi u) and r = (1 + sqrt(1 + 4
    // k^2)) / (2 k) the cosine is (1 + r z) / (r + z). Written with k (r - 1), in (1/2, 1], no two
    // nearly equal numbers are subtracted.
    const double rest = 0.5 + 0.5 / (::hypot(1.0, 2 * k) + 2 * k);
    while (true) {
      const scalar::SineCosine<double> half =
          scalar::sine_cosine_of_turns(0.25 * numbers.uniform());
      const double up = half.sine * half.sine, down = half.cosine * half.cosine;
      const double off = 2 * rest * up / (rest + 2 * k * down);  // 1 - cosine
      const double c = rest + k * off, v = numbers.uniform();
      if (scalar::log(c / v) + 1 - c < 0) continue;
      const double angle = 2 * scalar::asin(scalar::sqrt(scalar::minimum(0.5 * off, 1.0)));
      return numbers.uniform() < 0.5 ? -angle : angle;
    }
  }
};

template <class Draw>
struct DrawBody {
  double* out;
  RandomPosition random;
  const double *first, *second;  // each element's parameters; null where there is no second
  AORTA_INLINE void operator()(int64_t i) const {
    ElementNumbers numbers(random, i);
    out[i] = Draw()(first[i], second ? second[i] : 0, numbers);
  }
};

/// Calls run(body) with the body of such a fill of doubles; false where it is another one.
template <class Fill, class Run>
bool run_draws(const Fill& f, double* out, const Run& run) {
  const auto with = [&]<class Draw>(Draw) {
    const double* const second = f.second.defined() ? f.second.template data<double>() : nullptr;
    run(DrawBody<Draw>{out, f.random, f.first.template data<double>(), second});
    return true;
  };
  switch (f.distribution) {
    case Distribution::poisson:
      return with(DrawPoisson());
    case Distribution::gamma:
      return with(DrawGamma());
    case Distribution::binomial:
      return with(DrawBinomial());
    case Distribution::von_mises:
      return with(DrawVonMises());
    default:
      return false;
  }
}

}  // namespace aorta::body
