#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/creation.h>

#include <optional>

// Discrete Fourier transforms, with the names and rules of torch.fft (docs/complex.md). A transform
// of length n along a dimension is y[k] = scale * sum of x[j] exp(-+ 2 pi i j k / n), - forward and
// + inverse. The input is cut, or padded with zeros at its end, to length n along a dimension where
// n is given. `norm` says which scale: "backward" 1 forward and 1/n inverse, "ortho" 1/sqrt(n)
// both, "forward" 1/n forward and 1 inverse, with n the product of the lengths.
//
// f32, f64, c64 and c128 are taken; integers and bool become f32, half types are refused. Gradients
// are transforms, to any order. On a GPU cuFFT computes them.
namespace aorta::fft {

/// The spectrum of a complex or real signal, n numbers.
Tensor fft(const Tensor& input, std::optional<int64_t> n = {}, int64_t dim = -1,
           const char* norm = "backward");
Tensor ifft(const Tensor& input, std::optional<int64_t> n = {}, int64_t dim = -1,
            const char* norm = "backward");
/// The first n / 2 + 1 numbers of a real signal's spectrum; the others are their conjugates.
Tensor rfft(const Tensor& input, std::optional<int64_t> n = {}, int64_t dim = -1,
            const char* norm = "backward");
/// The n real numbers with such a spectrum; n is 2 (size - 1) where it isn't given. The imaginary
/// parts of number 0 and, for an even n, n / 2 are ignored.
Tensor irfft(const Tensor& input, std::optional<int64_t> n = {}, int64_t dim = -1,
             const char* norm = "backward");
/// The n real numbers of the spectrum of a signal whose second half is the first one's conjugate,
/// and its inverse.
Tensor hfft(const Tensor& input, std::optional<int64_t> n = {}, int64_t dim = -1,
            const char* norm = "backward");
Tensor ihfft(const Tensor& input, std::optional<int64_t> n = {}, int64_t dim = -1,
             const char* norm = "backward");

/// The transforms along several dimensions: `dim`, or, where that is empty, as many of the last
/// ones as `s` has lengths, or all. A length of -1 is the input's. Those of real signals have half
/// a spectrum in the last of `dim`.
Tensor fftn(const Tensor& input, const Dims& s = {}, const Dims& dim = {},
            const char* norm = "backward");
Tensor ifftn(const Tensor& input, const Dims& s = {}, const Dims& dim = {},
             const char* norm = "backward");
Tensor rfftn(const Tensor& input, const Dims& s = {}, const Dims& dim = {},
             const char* norm = "backward");
Tensor irfftn(const Tensor& input, const Dims& s = {}, const Dims& dim = {},
              const char* norm = "backward");
Tensor hfftn(const Tensor& input, const Dims& s = {}, const Dims& dim = {},
             const char* norm = "backward");
Tensor ihfftn(const Tensor& input, const Dims& s = {}, const Dims& dim = {},
              const char* norm = "backward");
/// The transforms along two dimensions.
Tensor fft2(const Tensor& input, const Dims& s = {}, const Dims& dim = {-2, -1},
            const char* norm = "backward");
Tensor ifft2(const Tensor& input, const Dims& s = {}, const Dims& dim = {-2, -1},
             const char* norm = "backward");
Tensor rfft2(const Tensor& input, const Dims& s = {}, const Dims& dim = {-2, -1},
             const char* norm = "backward");
Tensor irfft2(const Tensor& input, const Dims& s = {}, const Dims& dim = {-2, -1},
              const char* norm = "backward");
Tensor hfft2(const Tensor& input, const Dims& s = {}, const Dims& dim = {-2, -1},
             const char* norm = "backward");
Tensor ihfft2(const Tensor& input, const Dims& s = {}, const Dims& dim = {-2, -1},
              const char* norm = "backward");

/// The frequencies of fft's n numbers, d apart in time: 0, 1, .., then the negative ones up to -1,
/// all over n d; and of rfft's n / 2 + 1.
Tensor fftfreq(int64_t n, double d = 1, const TensorOptions& options = {});
Tensor rfftfreq(int64_t n, double d = 1, const TensorOptions& options = {});
/// Rolls the number of frequency 0 to the middle of every dimension of `dim`, or of all, and back.
Tensor fftshift(const Tensor& input, const Dims& dim = {});
Tensor ifftshift(const Tensor& input, const Dims& dim = {});

}  // namespace aorta::fft

namespace aorta::kernel {

/// A transform of the lines of dense tensors (line_args.h), of which there are outer x inner.
struct FftArgs {
  const void* input;
  void* output;
  DType dtype;  // of the parts: f32 or f64
  int64_t outer, inner;
  int64_t n;  // of the transform
  bool forward;
  double scale;
};
using FftKernel = void (*)(const FftArgs& args);
using FftGradient = void (*)(Tensor& output, const Tensor& input, int dim, bool forward,
                             double scale);
/// n complex numbers to n; n real ones to n / 2 + 1 complex ones, forward; and those to n real
/// ones, inverse.
extern Op<FftKernel, FftGradient> fft_c2c_op, fft_r2c_op, fft_c2r_op;

Tensor fft_c2c(const Tensor& input, int dim, bool forward, double scale);
Tensor fft_r2c(const Tensor& input, int dim, double scale);
Tensor fft_c2r(const Tensor& input, int dim, int64_t n, double scale);
/// The input cut or padded with zeros at its end to `n` along a dimension.
Tensor resized(const Tensor& input, int dim, int64_t n);

}  // namespace aorta::kernel
