// Fourier transforms of blocks of lines that lie side by side (isa/fft.cc); of lengths with a large
// prime factor by Bluestein's algorithm (1970): a convolution with a chirp, by transforms of a
// length that is a power of two.
#include <aorta/core/cpu/fft.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace aorta::cpu {
namespace {

// From this prime factor on a pass by the definition, whose time goes with it, is the slower way.
constexpr int64_t kLargestFactor = 64;
constexpr int64_t kLines = 8;

template <class T>
FftFunction<T> function() {
  if constexpr (std::is_same_v<T, float>)
    return fft_loops().f32;
  else
    return fft_loops().f64;
}

// Real and imaginary parts apart.
template <class T>
struct Numbers {
  explicit Numbers(int64_t count = 0) { resize(count); }
  void resize(int64_t count) {
    re.resize(static_cast<size_t>(count));
    im.resize(static_cast<size_t>(count));
  }
  std::vector<T> re, im;
};

// exp(-2 pi i k / n) for k < count.
template <class T>
Numbers<T> turns(int64_t n, int64_t count) {
  Numbers<T> result(count);
  for (int64_t k = 0; k < count; ++k) {
    const double angle = -2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
    result.re[static_cast<size_t>(k)] = static_cast<T>(std::cos(angle));
    result.im[static_cast<size_t>(k)] = static_cast<T>(std::sin(angle));
  }
  return result;
}

template <class T>
struct Plan {
  explicit Plan(int64_t n) : turn(turns<T>(n, n)) {
    plan.n = n;
    const auto take = [&](int64_t p) {
      for (; n % p == 0 && n > 1; n /= p) plan.factors[plan.count++] = p;
    };
    take(4);
    take(2);
    for (int64_t p = 3; p * p <= n; p += 2) take(p);
    if (n > 1) plan.factors[plan.count++] = n;
    plan.cosine = turn.re.data();
    plan.sine = turn.im.data();
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  int64_t largest_factor() const {
    return plan.count == 0 ? 1 : *std::max_element(plan.factors, plan.factors + plan.count);
  }

  Numbers<T> turn;
  FftPlan<T> plan;
};

// `x`, of lines side by side, becomes its transform; `other` has room for as much.
template <class T>
void run_plan(const Plan<T>& plan, int64_t lines, Numbers<T>& x, Numbers<T>& other) {
  function<T>()(plan.plan, lines, x.re.data(), x.im.data(), other.re.data(), other.im.data());
  if (plan.plan.count % 2 != 0) std::swap(x, other);
}

// The transform of n numbers by a convolution.
class Chirp {
 public:
  explicit Chirp(int64_t n) : n_(n), plan_(length_for(n)), turn_(n), filter_(plan_.plan.n) {
    const int64_t m = plan_.plan.n;
    for (int64_t k = 0; k < n; ++k) {
      // k^2 modulo the period, for large angles have no digits left.
      const double angle = M_PI * static_cast<double>(k * k % (2 * n)) / static_cast<double>(n);
      const auto at = static_cast<size_t>(k), mirrored = static_cast<size_t>(k == 0 ? 0 : m - k);
      turn_.re[at] = filter_.re[at] = filter_.re[mirrored] = std::cos(angle);
      turn_.im[at] = -std::sin(angle);
      filter_.im[at] = filter_.im[mirrored] = std::sin(angle);
    }
    Numbers<double> other(m);
    run_plan(plan_, 1, filter_, other);
    for (std::vector<double>* part : {&filter_.re, &filter_.im})
      for (double& value : *part) value /= static_cast<double>(m);
  }

  template <class T>
  void operator()(int64_t lines, Numbers<T>& x) const {
    const int64_t m = plan_.plan.n, count = n_ * lines;
    Numbers<double> wide(m * lines), other(m * lines);
    for (int64_t i = 0; i < count; ++i) multiply(wide, i, x, i, turn_, i / lines);
    run_plan(plan_, lines, wide, other);
    for (int64_t i = 0; i < m * lines; ++i) multiply(wide, i, wide, i, filter_, i / lines);
    // The way back is a transform with the parts in each other's place.
    std::swap(wide.re, wide.im);
    run_plan(plan_, lines, wide, other);
    std::swap(wide.re, wide.im);
    for (int64_t i = 0; i < count; ++i) multiply(x, i, wide, i, turn_, i / lines);
  }

 private:
  static int64_t length_for(int64_t n) {
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
  }
  template <class Out, class In>
  static void multiply(Numbers<Out>& out, int64_t i, const Numbers<In>& in, int64_t j,
                       const Numbers<double>& turn, int64_t k) {
    const double re = in.re[static_cast<size_t>(j)], im = in.im[static_cast<size_t>(j)];
    const double c = turn.re[static_cast<size_t>(k)], s = turn.im[static_cast<size_t>(k)];
    out.re[static_cast<size_t>(i)] = static_cast<Out>(re * c - im * s);
    out.im[static_cast<size_t>(i)] = static_cast<Out>(re * s + im * c);
  }

  int64_t n_;
  Plan<double> plan_;
  Numbers<double> turn_, filter_;
};

// Forward transforms of n numbers.
template <class T>
class Transform {
 public:
  explicit Transform(int64_t n) : plan_(n) {
    if (plan_.largest_factor() > kLargestFactor) chirp_.emplace_back(n);
  }
  void operator()(int64_t lines, Numbers<T>& x, Numbers<T>& other) const {
    if (!chirp_.empty()) return chirp_.front()(lines, x);
    run_plan(plan_, lines, x, other);
  }

 private:
  Plan<T> plan_;
  std::list<Chirp> chirp_;
};

// Up to kLines lines of `length` numbers that lie side by side, or one behind the other: where they
// start, how far their numbers lie apart, and they themselves.
struct Block {
  int64_t start, step, between, lines;
};
Block block_of(const FftArgs& args, int64_t i, int64_t length) {
  if (args.inner == 1) {
    const int64_t first = i * kLines;
    return {first * length, 1, length, std::min(kLines, args.outer - first)};
  }
  const int64_t across = divide_up(args.inner, kLines);
  const int64_t first = i % across * kLines;
  return {i / across * length * args.inner + first, args.inner, 1,
          std::min(kLines, args.inner - first)};
}

// The block's lines by every second number.
Block pairs_of(const Block& block) {
  return {block.start, 2 * block.step, block.between, block.lines};
}

// Calls body(i, x, other) for each block of lines, with room for n numbers of each line.
template <class T, class Body>
void each_block(const FftArgs& args, int64_t room, const Body& body) {
  const int64_t blocks =
      args.inner == 1 ? divide_up(args.outer, kLines) : args.outer * divide_up(args.inner, kLines);
  const int64_t grain = std::max<int64_t>(32768 / (args.n * kLines), 1);
  parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
    Numbers<T> x(room * kLines), other(room * kLines);
    for (int64_t i = begin; i < end; ++i) body(i, x, other);
  });
}

// Number k of line c of a block is at [k * lines + c] of the numbers.
template <class F>
void each_number(const Block& block, int64_t count, const F& f) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t c = 0; c < block.lines; ++c)
      f(static_cast<size_t>(k * block.lines + c), block.start + k * block.step + c * block.between);
  }
}

template <class T>
void complex_to_complex(const FftArgs& args) {
  const Transform<T> transform(args.n);
  const T scale = static_cast<T>(args.scale);
  const T* const in = static_cast<const T*>(args.input);
  T* const out = static_cast<T*>(args.output);
  // An inverse transform has the parts in each other's place.
  const int64_t re = args.forward ? 0 : 1, im = 1 - re;
  each_block<T>(args, args.n, [&](int64_t i, Numbers<T>& x, Numbers<T>& other) {
    const Block block = block_of(args, i, args.n);
    each_number(block, args.n, [&](size_t at, int64_t place) {
      x.re[at] = in[2 * place + re];
      x.im[at] = in[2 * place + im];
    });
    transform(block.lines, x, other);
    each_number(block, args.n, [&](size_t at, int64_t place) {
      out[2 * place + re] = x.re[at] * scale;
      out[2 * place + im] = x.im[at] * scale;
    });
  });
}

// An even number of real numbers is half as many complex ones: x[2 j] + i x[2 j + 1] has the
// spectrum E[k] + i O[k], where x has E[k] + exp(-2 pi i k / n) O[k].
template <class T>
void real_to_complex(const FftArgs& args) {
  const int64_t n = args.n, half = n / 2, count = half + 1;
  const bool even = n % 2 == 0;
  const Transform<T> transform(even ? half : n);
  const Numbers<T> turn = turns<T>(n, half + 1);
  const T scale = static_cast<T>(args.scale);
  const T* const in = static_cast<const T*>(args.input);
  T* const out = static_cast<T*>(args.output);
  each_block<T>(args, n, [&](int64_t i, Numbers<T>& x, Numbers<T>& other) {
    const Block from = block_of(args, i, n), to = block_of(args, i, count);
    const int64_t lines = from.lines;
    each_number(even ? pairs_of(from) : from, even ? half : n, [&](size_t at, int64_t place) {
      x.re[at] = in[place];
      x.im[at] = even ? in[place + from.step] : T(0);
    });
    transform(lines, x, other);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = (even ? k % half : k) * lines,
                    mirrored = even ? (half - k) % half * lines : 0;
      const T cosine = turn.re[static_cast<size_t>(k)], sine = turn.im[static_cast<size_t>(k)];
      for (int64_t c = 0; c < lines; ++c) {
        const size_t a = static_cast<size_t>(at + c), b = static_cast<size_t>(mirrored + c);
        T re = x.re[a], im = x.im[a];
        if (even) {
          const T even_re = (x.re[a] + x.re[b]) / 2, even_im = (x.im[a] - x.im[b]) / 2;
          const T odd_re = (x.im[a] + x.im[b]) / 2, odd_im = (x.re[b] - x.re[a]) / 2;
          re = even_re + (odd_re * cosine - odd_im * sine);
          im = even_im + (odd_re * sine + odd_im * cosine);
          if (k == 0 || k == half) im = 0;
        }
        T* const place = out + 2 * (to.start + k * to.step + c * to.between);
        place[0] = re * scale;
        place[1] = im * scale;
      }
    }
  });
}

// The way back; the imaginary parts of the first number and the middle one aren't read.
template <class T>
void complex_to_real(const FftArgs& args) {
  const int64_t n = args.n, half = n / 2, count = half + 1;
  const bool even = n % 2 == 0;
  const Transform<T> transform(even ? half : n);
  const Numbers<T> turn = turns<T>(n, half + 1);
  const T scale = static_cast<T>(args.scale);
  const T* const in = static_cast<const T*>(args.input);
  T* const out = static_cast<T*>(args.output);
  each_block<T>(args, n, [&](int64_t i, Numbers<T>& x, Numbers<T>& other) {
    const Block from = block_of(args, i, count), to = block_of(args, i, n);
    const int64_t lines = from.lines;
    const auto part = [&](int64_t k, int64_t c) { return static_cast<size_t>(k * lines + c); };
    // The parts are in each other's place, for an inverse transform.
    each_number(from, count, [&](size_t at, int64_t place) {
      other.im[at] = in[2 * place];
      other.re[at] = in[2 * place + 1];
    });
    for (int64_t c = 0; c < lines; ++c) other.re[part(0, c)] = 0;
    if (even)
      for (int64_t c = 0; c < lines; ++c) other.re[part(half, c)] = 0;
    for (int64_t k = 0; k < (even ? half : count); ++k) {
      for (int64_t c = 0; c < lines; ++c) {
        const size_t a = part(k, c), b = part(half - k, c);
        if (!even) {
          x.re[a] = other.re[a];
          x.im[a] = other.im[a];
          if (k > 0) {
            x.re[part(n - k, c)] = -other.re[a];
            x.im[part(n - k, c)] = other.im[a];
          }
          continue;
        }
        const T sum_re = other.im[a] + other.im[b], sum_im = other.re[a] - other.re[b];
        const T apart_re = other.im[a] - other.im[b], apart_im = other.re[a] + other.re[b];
        const T cosine = turn.re[static_cast<size_t>(k)], sine = -turn.im[static_cast<size_t>(k)];
        const T odd_re = apart_re * cosine - apart_im * sine;
        const T odd_im = apart_re * sine + apart_im * cosine;
        x.im[a] = sum_re - odd_im;
        x.re[a] = sum_im + odd_re;
      }
    }
    transform(lines, x, other);
    each_number(even ? pairs_of(to) : to, even ? half : n, [&](size_t at, int64_t place) {
      out[place] = x.im[at] * scale;
      if (even) out[place + to.step] = x.re[at] * scale;
    });
  });
}

template <void (*f64_kernel)(const FftArgs&), void (*f32_kernel)(const FftArgs&)>
void run(const FftArgs& args) {
  try {
    args.dtype == DType::f64 ? f64_kernel(args) : f32_kernel(args);
  } catch (const std::bad_alloc&) {
    fail_for_resources("fft", "there must be memory for the numbers on the way", args.n,
                       " numbers a transform");
  }
}

}  // namespace

void register_fft() {
  fft_c2c_op.set_kernel(DeviceType::cpu,
                        run<complex_to_complex<double>, complex_to_complex<float>>);
  fft_r2c_op.set_kernel(DeviceType::cpu, run<real_to_complex<double>, real_to_complex<float>>);
  fft_c2r_op.set_kernel(DeviceType::cpu, run<complex_to_real<double>, complex_to_real<float>>);
}

}  // namespace aorta::cpu
