#include <aorta/core/cpu/fft.h>

// Stockham's transform: each pass takes one factor p out of the length and leaves the numbers in
// order. With `run` lines or parts of them side by side, sequence r of p has number q at [(q + m r)
// run], and the results go to [(p q + t) run]. What is side by side is what is vectorised.
namespace aorta::cpu::AORTA_ISA {
namespace {

template <class T>
struct Number {
  T re, im;
};
template <class T>
AORTA_INLINE Number<T> operator+(Number<T> a, Number<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
AORTA_INLINE Number<T> operator-(Number<T> a, Number<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
AORTA_INLINE Number<T> operator*(T a, Number<T> b) {
  return {a * b.re, a * b.im};
}
template <class T>
AORTA_INLINE Number<T> operator*(Number<T> a, Number<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// a - i b and a + i b.
template <class T>
AORTA_INLINE Number<T> less_turned(Number<T> a, Number<T> b) {
  return {a.re + b.im, a.im - b.re};
}
template <class T>
AORTA_INLINE Number<T> plus_turned(Number<T> a, Number<T> b) {
  return {a.re - b.im, a.im + b.re};
}

// Transforms of p numbers, in place.
template <class T>
AORTA_INLINE void transform(Number<T> (&a)[2]) {
  const Number<T> difference = a[0] - a[1];
  a[0] = a[0] + a[1];
  a[1] = difference;
}
template <class T>
AORTA_INLINE void transform(Number<T> (&a)[3]) {
  const Number<T> sum = a[1] + a[2];
  const Number<T> side = T(0.86602540378443864676) * (a[1] - a[2]);
  const Number<T> middle = a[0] - T(0.5) * sum;
  a[0] = a[0] + sum;
  a[1] = less_turned(middle, side);
  a[2] = plus_turned(middle, side);
}
template <class T>
AORTA_INLINE void transform(Number<T> (&a)[4]) {
  const Number<T> even = a[0] + a[2], odd = a[1] + a[3];
  const Number<T> apart = a[0] - a[2], side = a[1] - a[3];
  a[0] = even + odd;
  a[1] = less_turned(apart, side);
  a[2] = even - odd;
  a[3] = plus_turned(apart, side);
}
template <class T>
AORTA_INLINE void transform(Number<T> (&a)[5]) {
  constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
  constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
  const Number<T> outer = a[1] + a[4], inner = a[2] + a[3];
  const Number<T> across = a[1] - a[4], within = a[2] - a[3];
  const Number<T> first = a[0] + c1 * outer + c2 * inner;
  const Number<T> second = a[0] + c2 * outer + c1 * inner;
  const Number<T> side = s1 * across + s2 * within, other = s2 * across - s1 * within;
  a[0] = a[0] + outer + inner;
  a[1] = less_turned(first, side);
  a[2] = less_turned(second, other);
  a[3] = plus_turned(second, other);
  a[4] = plus_turned(first, side);
}

// A pass: `left` is the product of the factors that are still to come, this one's among them.
template <int p, class T>
void pass(const FftPlan<T>& plan, int64_t left, int64_t run, const T* __restrict re,
          const T* __restrict im, T* __restrict to_re, T* __restrict to_im) {
  const int64_t m = left / p, done = plan.n / left;
  for (int64_t q = 0; q < m; ++q) {
    Number<T> turn[p];
    for (int t = 0; t < p; ++t) {
      const int64_t k = q * t * done;
      turn[t] = {plan.cosine[k], plan.sine[k]};
    }
    const int64_t from = q * run, to = p * q * run;
#pragma GCC ivdep
    for (int64_t e = 0; e < run; ++e) {
      Number<T> a[p];
      for (int r = 0; r < p; ++r) a[r] = {re[from + m * r * run + e], im[from + m * r * run + e]};
      transform(a);
      to_re[to + e] = a[0].re;
      to_im[to + e] = a[0].im;
      for (int t = 1; t < p; ++t) {
        const Number<T> turned = a[t] * turn[t];
        to_re[to + t * run + e] = turned.re;
        to_im[to + t * run + e] = turned.im;
      }
    }
  }
}

// Does the same for any p, by the definition.
template <class T>
void any_pass(int64_t p, const FftPlan<T>& plan, int64_t left, int64_t run, const T* __restrict re,
              const T* __restrict im, T* __restrict to_re, T* __restrict to_im) {
  const int64_t m = left / p, done = plan.n / left;
  for (int64_t q = 0; q < m; ++q) {
    for (int64_t t = 0; t < p; ++t) {
      T* const out_re = to_re + (p * q + t) * run;
      T* const out_im = to_im + (p * q + t) * run;
      for (int64_t r = 0; r < p; ++r) {
        // The turns of the transform of p numbers, and of the one of those that are left.
        const int64_t k = (r * t % p * (plan.n / p) + q * t * done) % plan.n;
        const Number<T> turn{plan.cosine[k], plan.sine[k]};
        const T* const in_re = re + (q + m * r) * run;
        const T* const in_im = im + (q + m * r) * run;
#pragma GCC ivdep
        for (int64_t e = 0; e < run; ++e) {
          const Number<T> term = Number<T>{in_re[e], in_im[e]} * turn;
          out_re[e] = r == 0 ? term.re : out_re[e] + term.re;
          out_im[e] = r == 0 ? term.im : out_im[e] + term.im;
        }
      }
    }
  }
}

template <class T>
void run(const FftPlan<T>& plan, int64_t lines, T* re, T* im, T* other_re, T* other_im) {
  int64_t left = plan.n;
  for (int i = 0; i < plan.count; ++i) {
    const int64_t p = plan.factors[i], side = plan.n / left * lines;
    if (p == 4)
      pass<4>(plan, left, side, re, im, other_re, other_im);
    else if (p == 2)
      pass<2>(plan, left, side, re, im, other_re, other_im);
    else if (p == 3)
      pass<3>(plan, left, side, re, im, other_re, other_im);
    else if (p == 5)
      pass<5>(plan, left, side, re, im, other_re, other_im);
    else
      any_pass(p, plan, left, side, re, im, other_re, other_im);
    T* const was_re = re;
    T* const was_im = im;
    re = other_re;
    im = other_im;
    other_re = was_re;
    other_im = was_im;
    left /= p;
  }
}

}  // namespace

const FftLoops fft_loops = {.f32 = run<float>, .f64 = run<double>};

}  // namespace aorta::cpu::AORTA_ISA
