// Fourier transforms by kissfft, of the unsupported modules that come with Eigen; lengths with a
// large prime factor by Bluestein's algorithm (1970): a convolution with a chirp, by transforms of
// a length that is a power of two.
#include <aorta/core/integers.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <new>
#include <unsupported/Eigen/FFT>
#include <vector>

namespace aorta::cpu {
namespace {

// From this prime factor on kissfft, whose time goes with it, is the slower way.
constexpr int64_t kLargestFactor = 64;
// Lines that lie side by side are read together.
constexpr int64_t kLines = 8;

int64_t largest_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

// A transform of n numbers without a scale. A thread has its own.
template <class T>
class Transform {
 public:
  using Complex = std::complex<T>;

  Transform(int64_t n, bool forward) : n_(n), chirps_(largest_factor(n) > kLargestFactor) {
    if (n == 1) return;
    if (!chirps_) {
      make(plan_, n, !forward);
      return;
    }
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    make(wide_, m, false);
    make(wide_back_, m, true);
    chirp_.resize(static_cast<size_t>(n));
    spectrum_.resize(static_cast<size_t>(m));
    padded_.resize(static_cast<size_t>(m));
    std::vector<std::complex<double>> filter(static_cast<size_t>(m));
    for (int64_t k = 0; k < n; ++k) {
      // k^2 modulo the period, for large angles have no digits left.
      const double angle = M_PI * static_cast<double>(k * k % (2 * n)) / static_cast<double>(n);
      chirp_[static_cast<size_t>(k)] = std::polar(1.0, forward ? -angle : angle);
      filter[static_cast<size_t>(k)] = std::conj(chirp_[static_cast<size_t>(k)]);
      if (k > 0) filter[static_cast<size_t>(m - k)] = filter[static_cast<size_t>(k)];
    }
    wide_.work(0, spectrum_.data(), filter.data(), 1, 1);
    for (auto& value : spectrum_) value /= static_cast<double>(m);
  }

  void operator()(Complex* out, const Complex* in) {
    if (n_ == 1) {
      *out = *in;
    } else if (chirps_) {
      convolve(out, in);
    } else {
      plan_.work(0, out, in, 1, 1);
    }
  }

 private:
  template <class Plan>
  static void make(Plan& plan, int64_t n, bool inverse) {
    plan.make_twiddles(static_cast<int>(n), inverse);
    plan.factorize(static_cast<int>(n));
  }

  // In f64, for a detour of three transforms.
  void convolve(Complex* out, const Complex* in) {
    const size_t n = static_cast<size_t>(n_);
    for (size_t k = 0; k < n; ++k) padded_[k] = std::complex<double>(in[k]) * chirp_[k];
    std::fill(padded_.begin() + n_, padded_.end(), 0);
    std::vector<std::complex<double>>& product = product_;
    product.resize(padded_.size());
    wide_.work(0, product.data(), padded_.data(), 1, 1);
    for (size_t k = 0; k < product.size(); ++k) product[k] *= spectrum_[k];
    wide_back_.work(0, padded_.data(), product.data(), 1, 1);
    for (size_t k = 0; k < n; ++k) out[k] = static_cast<Complex>(padded_[k] * chirp_[k]);
  }

  int64_t n_;
  bool chirps_;
  Eigen::internal::kiss_cpx_fft<T> plan_;
  Eigen::internal::kiss_cpx_fft<double> wide_, wide_back_;
  std::vector<std::complex<double>> chirp_, spectrum_, padded_, product_;
};

// Where a line of `length` numbers starts.
int64_t start_of(int64_t line, int64_t length, int64_t inner) {
  return line / inner * length * inner + line % inner;
}

// Calls body(transform, in, out, lines) for up to kLines lines that lie side by side, in and out
// the first numbers of scratch rows.
template <class T, class Body>
void each_block(const FftArgs& args, int64_t transformed, const Body& body) {
  const int64_t width = std::min(args.inner, kLines);
  const int64_t across = divide_up(args.inner, width);
  const int64_t grain = std::max<int64_t>(32768 / (args.n * width), 1);
  const Transform<T> prepared(transformed, args.forward);
  parallel_for(0, args.outer * across, grain, [&](int64_t begin, int64_t end) {
    Transform<T> transform = prepared;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % across * width;
      body(transform, i / across * args.inner + first, std::min(width, args.inner - first));
    }
  });
}

// Reads `count` numbers of each of `lines` lines into rows of `stride`.
template <class T>
void gather(T* rows, int64_t stride, const T* in, int64_t step, int64_t count, int64_t lines) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t c = 0; c < lines; ++c) rows[c * stride + k] = in[k * step + c];
  }
}
template <class T, class S>
void scatter(T* out, int64_t step, const T* rows, int64_t stride, int64_t count, int64_t lines,
             S scale) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t c = 0; c < lines; ++c) out[k * step + c] = rows[c * stride + k] * scale;
  }
}

template <class T>
void complex_to_complex(const FftArgs& args) {
  using Complex = std::complex<T>;
  const int64_t n = args.n;
  each_block<T>(args, n, [&](Transform<T>& transform, int64_t line, int64_t lines) {
    std::vector<Complex> in(static_cast<size_t>(n * lines)), out(in.size());
    const int64_t start = start_of(line, n, args.inner);
    gather(in.data(), n, static_cast<const Complex*>(args.input) + start, args.inner, n, lines);
    for (int64_t c = 0; c < lines; ++c) transform(out.data() + c * n, in.data() + c * n);
    scatter(static_cast<Complex*>(args.output) + start, args.inner, out.data(), n, n, lines,
            static_cast<T>(args.scale));
  });
}

// exp(-2 pi i k / n) for k up to n / 4.
template <class T>
std::vector<std::complex<T>> turns(int64_t n) {
  std::vector<std::complex<T>> result(static_cast<size_t>(n / 4 + 1));
  for (size_t k = 0; k < result.size(); ++k) {
    const double angle = -2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
    result[k] = static_cast<std::complex<T>>(std::polar(1.0, angle));
  }
  return result;
}

// An even number of real numbers is half as many complex ones: x[2 j] + i x[2 j + 1] has the
// spectrum E[k] + i O[k], where x has E[k] + exp(-2 pi i k / n) O[k].
template <class T>
void real_to_complex(const FftArgs& args) {
  using Complex = std::complex<T>;
  const int64_t n = args.n, half = n / 2, count = half + 1;
  const bool even = n % 2 == 0;
  const std::vector<Complex> turn = turns<T>(even ? n : 0);
  each_block<T>(args, even ? half : n, [&](Transform<T>& transform, int64_t line, int64_t lines) {
    std::vector<T> in(static_cast<size_t>(n * lines));
    std::vector<Complex> out(static_cast<size_t>(n * lines)), wide(static_cast<size_t>(n));
    gather(in.data(), n, static_cast<const T*>(args.input) + start_of(line, n, args.inner),
           args.inner, n, lines);
    for (int64_t c = 0; c < lines; ++c) {
      const T* const x = in.data() + c * n;
      Complex* const y = out.data() + c * n;
      if (!even) {
        std::copy(x, x + n, wide.begin());
        transform(y, wide.data());
        continue;
      }
      for (int64_t j = 0; j < half; ++j)
        wide[static_cast<size_t>(j)] = Complex(x[2 * j], x[2 * j + 1]);
      transform(y, wide.data());
      const Complex first = y[0];
      for (int64_t k = 1; 2 * k <= half; ++k) {
        const Complex a = y[k], b = std::conj(y[half - k]);
        const Complex whole = (a + b) * T(0.5), odd = (a - b) * T(0.5);
        const Complex turned = Complex(odd.imag(), -odd.real()) * turn[static_cast<size_t>(k)];
        y[k] = whole + turned;
        y[half - k] = std::conj(whole - turned);
      }
      y[0] = first.real() + first.imag();
      y[half] = first.real() - first.imag();
    }
    scatter(static_cast<Complex*>(args.output) + start_of(line, count, args.inner), args.inner,
            out.data(), n, count, lines, static_cast<T>(args.scale));
  });
}

// The way back.
template <class T>
void complex_to_real(const FftArgs& args) {
  using Complex = std::complex<T>;
  const int64_t n = args.n, half = n / 2, count = half + 1;
  const bool even = n % 2 == 0;
  const std::vector<Complex> turn = turns<T>(even ? n : 0);
  each_block<T>(args, even ? half : n, [&](Transform<T>& transform, int64_t line, int64_t lines) {
    std::vector<Complex> in(static_cast<size_t>(count * lines)), wide(static_cast<size_t>(n)),
        back(static_cast<size_t>(n));
    std::vector<T> out(static_cast<size_t>(n * lines));
    gather(in.data(), count,
           static_cast<const Complex*>(args.input) + start_of(line, count, args.inner), args.inner,
           count, lines);
    for (int64_t c = 0; c < lines; ++c) {
      const Complex* const x = in.data() + c * count;
      T* const y = out.data() + c * n;
      if (!even) {
        wide[0] = x[0].real();
        for (int64_t k = 1; k < count; ++k) {
          wide[static_cast<size_t>(k)] = x[k];
          wide[static_cast<size_t>(n - k)] = std::conj(x[k]);
        }
        transform(back.data(), wide.data());
        for (int64_t j = 0; j < n; ++j) y[j] = back[static_cast<size_t>(j)].real();
        continue;
      }
      const T first = x[0].real(), middle = x[half].real();
      wide[0] = Complex(first + middle, first - middle);
      for (int64_t k = 1; 2 * k <= half; ++k) {
        const Complex a = x[k], b = std::conj(x[half - k]);
        const Complex odd = (a - b) * std::conj(turn[static_cast<size_t>(k)]);
        const Complex turned(-odd.imag(), odd.real());
        wide[static_cast<size_t>(k)] = a + b + turned;
        wide[static_cast<size_t>(half - k)] = std::conj(a + b - turned);
      }
      transform(back.data(), wide.data());
      for (int64_t j = 0; j < half; ++j) {
        y[2 * j] = back[static_cast<size_t>(j)].real();
        y[2 * j + 1] = back[static_cast<size_t>(j)].imag();
      }
    }
    scatter(static_cast<T*>(args.output) + start_of(line, n, args.inner), args.inner, out.data(), n,
            n, lines, static_cast<T>(args.scale));
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
