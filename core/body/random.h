#pragma once

// Loop bodies of the random fills: body(i) writes what block i of the generator gives. An element's
// value depends on its index alone, so that any split of the loop gives the same tensor. `out` is
// contiguous; halves have at most as many bits as their fraction, so that they never round up to 1.

#include <aorta/core/body/distribution.h>
#include <aorta/core/dtype.h>
#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/philox.h>

namespace aorta::body {

/// The four words of a block of a fill.
AORTA_INLINE scalar::PhiloxWords words_of(const RandomPosition& start, int64_t block) {
  return scalar::philox(start.seed, start.stream, start.position + static_cast<uint64_t>(block));
}

/// Elements that one block of four words gives: 2 for types that take 64 bits, else 4.
template <class T>
inline constexpr int kPerBlock = sizeof(T) == 8 ? 2 : 4;

/// Element j of a block, uniform in [0, 1).
template <class T>
AORTA_INLINE auto unit(const scalar::PhiloxWords& w, int j) {
  if constexpr (std::is_same_v<T, double>)
    return scalar::uniform_double(w.word[2 * j], w.word[2 * j + 1]);
  else if constexpr (std::is_same_v<T, Half>)
    return static_cast<float>(w.word[j] >> 21) * 0x1p-11f;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return static_cast<float>(w.word[j] >> 24) * 0x1p-8f;
  else
    return scalar::uniform_float(w.word[j]);
}

/// Writes what block `block` of a fill gives; the last one may be cut short.
template <class Body>
AORTA_INLINE void fill_block(const Body& body, int64_t block) {
  typename Body::Item items[Body::kItems];
  const int64_t first = block * Body::kItems;
  body.make(words_of(body.random, block), first, items);
  for (int j = 0; j < Body::kItems; ++j) {
    if (first + j < body.count) body.out[first + j] = items[j];
  }
}

/// Uniform in [low, high); rounding may give high for halves and extreme bounds.
template <class T>
struct UniformBody {
  T* out;
  int64_t count;
  RandomPosition random;
  double low, high;
  using Item = T;
  static constexpr int kItems = kPerBlock<T>;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t, T* items) const {
    using R = decltype(unit<T>({}, 0));
    const R start = static_cast<R>(low), width = static_cast<R>(high - low);
    for (int j = 0; j < kItems; ++j) items[j] = T(start + width * unit<T>(w, j));
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// Normal by Box and Muller: two uniform numbers give two normal ones; or their exponentials.
template <class T, bool kExponentials = false>
struct NormalBody {
  T* out;
  int64_t count;
  RandomPosition random;
  double mean, std;
  using Item = T;
  static constexpr int kItems = kPerBlock<T>;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t, T* items) const {
    using R = std::conditional_t<std::is_same_v<T, double>, double, float>;
#pragma GCC unroll 2
    for (int pair = 0; pair < kItems / 2; ++pair) {
      R u, v;  // u in (0, 1], so that its logarithm is finite
      if constexpr (std::is_same_v<T, double>) {
        u = 1.0 - scalar::uniform_double(w.word[0], w.word[1]);
        v = scalar::uniform_double(w.word[2], w.word[3]);
      } else {
        // All 32 bits of the radius: the tail reaches 6.66 standard deviations.
        u = (static_cast<float>(w.word[2 * pair]) + 1.0f) * 0x1p-32f;
        v = scalar::uniform_float(w.word[2 * pair + 1]);
      }
      const R radius = scalar::sqrt(R(-2) * scalar::log(u));
      const scalar::SineCosine<R> direction = scalar::sine_cosine_of_turns(v);
      const R center = static_cast<R>(mean), scale = static_cast<R>(std);
      R first = center + scale * (radius * direction.cosine);
      R second = center + scale * (radius * direction.sine);
      if constexpr (kExponentials) {
        first = scalar::exp(first);
        second = scalar::exp(second);
      }
      items[2 * pair] = T(first);
      items[2 * pair + 1] = T(second);
    }
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// A number that is uniform in (0, 1), and what is left to 1: the smaller one has all its digits.
template <class R>
struct Between {
  R lower, upper;
};
/// Element j of a block, from 32 bits for float and 53 for double.
template <class R>
AORTA_INLINE Between<R> between(const scalar::PhiloxWords& w, int j) {
  if constexpr (std::is_same_v<R, double>) {
    const double part = scalar::uniform_double(w.word[2 * j], w.word[2 * j + 1]);
    return {part + 0x1p-54, (1 - part) - 0x1p-54};
  } else {
    const auto part = static_cast<float>(w.word[j]), rest = static_cast<float>(~w.word[j]);
    return {(part + 0.5f) * 0x1p-32f, (rest + 0.5f) * 0x1p-32f};
  }
}
/// -log of a uniform number, exact for results near 0 too.
template <class R>
AORTA_INLINE R unit_exponential(const scalar::PhiloxWords& w, int j) {
  const Between<R> u = between<R>(w, j);
  const R small = scalar::log1p(-u.lower), large = scalar::log(u.upper);
  return -(u.lower < u.upper ? small : large);
}

/// Exponential with rate `rate`.
template <class T>
struct ExponentialBody {
  T* out;
  int64_t count;
  RandomPosition random;
  double rate, unused;
  using Item = T;
  static constexpr int kItems = kPerBlock<T>;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t, T* items) const {
    using R = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for (int j = 0; j < kItems; ++j) items[j] = T(unit_exponential<R>(w, j) / static_cast<R>(rate));
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// Cauchy: the cotangent of half a turn's uniform part, from the pole that is nearer.
template <class T>
struct CauchyBody {
  T* out;
  int64_t count;
  RandomPosition random;
  double median, sigma;
  using Item = T;
  static constexpr int kItems = kPerBlock<T>;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t, T* items) const {
    using R = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const R center = static_cast<R>(median), scale = static_cast<R>(sigma);
    for (int j = 0; j < kItems; ++j) {
      const Between<R> u = between<R>(w, j);
      const bool is_lower = u.lower < u.upper;
      const scalar::SineCosine<R> at =
          scalar::sine_cosine_of_turns((is_lower ? u.lower : u.upper) * R(0.5));
      const R cotangent = at.cosine / at.sine;
      items[j] = T(center + scale * (is_lower ? -cotangent : cotangent));
    }
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// The first success of trials: an exponential number with rate -log(1 - p), rounded up; two a
/// block for every dtype, so that dtypes agree.
template <class T>
struct GeometricBody {
  T* out;
  int64_t count;
  RandomPosition random;
  double rate, largest;  // what T holds at most
  using Item = T;
  static constexpr int kItems = 2;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t, T* items) const {
    for (int j = 0; j < 2; ++j) {
      const double trials = scalar::ceil(unit_exponential<double>(w, j) / rate);
      const double kept = scalar::minimum(scalar::maximum(trials, 1.0), largest);
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
        items[j] = static_cast<T>(kept);
      else
        items[j] = T(static_cast<float>(kept));
    }
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// Integers in [low, low + range); two a block for every dtype, so that dtypes agree.
template <class T>
struct RandintBody {
  T* out;
  int64_t count;
  RandomPosition random;
  int64_t low;
  uint64_t range;
  using Item = T;
  static constexpr int kItems = 2;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t, T* items) const {
    for (int j = 0; j < 2; ++j) {
      const uint64_t offset = scalar::uniform_below(w.word[2 * j], w.word[2 * j + 1], range);
      const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
        items[j] = static_cast<T>(value);
      else
        items[j] = T(static_cast<float>(value));
    }
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// 1 with probability p[i], else 0.
template <class T>
struct BernoulliBody {
  T* out;
  int64_t count;
  RandomPosition random;
  const double* probability;  // one an element, or one for all when `step` is 0
  int64_t step;
  using Item = T;
  static constexpr int kItems = 2;
  AORTA_INLINE void make(const scalar::PhiloxWords& w, int64_t first, T* items) const {
    for (int j = 0; j < 2; ++j) {
      // Past the end too there is a probability: nothing is read beyond the last.
      const int64_t i = first + j < count ? first + j : count - 1;
      const bool hit =
          scalar::uniform_double(w.word[2 * j], w.word[2 * j + 1]) < probability[i * step];
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
        items[j] = static_cast<T>(hit);
      else
        items[j] = T(hit ? 1.0f : 0.0f);
    }
  }
  AORTA_INLINE void operator()(int64_t block) const { fill_block(*this, block); }
};

/// Calls run(body) with the body of a distribution that has two numbers as its parameters, for the
/// dtypes that it has values in.
template <class T, class Fill, class Run>
void run_with_numbers(const Fill& f, T* out, int64_t count, const Run& run) {
  if constexpr (!std::is_same_v<T, bool>) {
    if (f.distribution == Distribution::geometric)
      return run(GeometricBody<T>{out, count, f.random, f.a, f.b});
  }
  if constexpr (!std::is_integral_v<T>) {
    switch (f.distribution) {
      case Distribution::uniform:
        return run(UniformBody<T>{out, count, f.random, f.a, f.b});
      case Distribution::normal:
        return run(NormalBody<T>{out, count, f.random, f.a, f.b});
      case Distribution::log_normal:
        return run(NormalBody<T, true>{out, count, f.random, f.a, f.b});
      case Distribution::exponential:
        return run(ExponentialBody<T>{out, count, f.random, f.a, f.b});
      case Distribution::cauchy:
        return run(CauchyBody<T>{out, count, f.random, f.a, f.b});
      default:
        return;
    }
  }
}

}  // namespace aorta::body
