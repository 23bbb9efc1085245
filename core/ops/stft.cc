#include <aorta/core/called_op.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/stft.h>

#include <algorithm>
#include <cmath>

namespace aorta {

using namespace kernel;

namespace {

// The lengths of frames, checked, and the window in the middle of n_fft numbers.
struct Frames {
  int64_t n_fft, hop;
  Tensor window;
};

template <class Options>
Frames frames_of(const char* op, const Tensor& input, int64_t n_fft, const Options& options,
                 DType window_dtype) {
  check(n_fft >= 1, op, "n_fft must be at least 1", n_fft);
  const int64_t hop = options.hop_length.value_or(n_fft / 4);
  const int64_t length = options.win_length.value_or(n_fft);
  check(hop >= 1, op, "hop_length must be at least 1", hop);
  check(length >= 1 && length <= n_fft, op, "win_length must be from 1 to n_fft", length, " for ",
        n_fft);
  Tensor window = options.window;
  if (!window.defined()) window = ones({length}, {.dtype = window_dtype, .device = input.device()});
  check(window.dim() == 1 && window.numel() == length, op, "the window must be (win_length)",
        window.shape(), " for ", length);
  check(window.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", window.device());
  const int64_t before = (n_fft - length) / 2;
  if (length < n_fft) window = pad(window, {before, n_fft - length - before});
  return {n_fft, hop, window};
}

}  // namespace

Tensor stft(const Tensor& input, int64_t n_fft, const StftOptions& options) {
  const char* const op = "stft";
  check_defined(op, {{"input", input}});
  const CalledOp called(op);
  check(is_differentiable(input.dtype()) && !is_half(input.dtype()), op,
        "dtype must be f32, f64, c64 or c128", input.dtype());
  check(input.dim() == 1 || input.dim() == 2, op, "input must be (L) or (B, L)", input.shape());
  const Frames frames = frames_of(op, input, n_fft, options, real_dtype(input.dtype()));
  const bool is_real = !input.is_complex() && !frames.window.is_complex();
  const bool onesided = options.onesided.value_or(is_real);
  check(is_real || !onesided, op, "a complex signal's spectrum isn't onesided", input.dtype(),
        " and a window of ", frames.window.dtype());
  Tensor x = input.dim() == 1 ? input.unsqueeze(0) : input;
  if (options.center) x = pad(x, {n_fft / 2, n_fft / 2}, options.pad_mode);
  check(n_fft <= x.size(1), op, "n_fft can't be more than the padded signal has", n_fft, " for ",
        x.size(1));
  x = unfold(x, 1, n_fft, frames.hop) * frames.window;
  const char* const norm = options.normalized ? "ortho" : "backward";
  const Tensor spectra =
      (onesided ? fft::rfft(x, {}, -1, norm) : fft::fft(x, {}, -1, norm)).transpose(1, 2);
  const Tensor result = input.dim() == 1 ? spectra.squeeze(0) : spectra;
  return options.return_complex ? result : view_as_real(result);
}

Tensor istft(const Tensor& input, int64_t n_fft, const IstftOptions& options) {
  const char* const op = "istft";
  check_defined(op, {{"input", input}});
  const CalledOp called(op);
  check(input.is_complex(), op, "dtype must be complex", input.dtype());
  check((input.dim() == 2 || input.dim() == 3) && input.size(-1) > 0, op,
        "input must be (F, T) or (B, F, T)", input.shape());
  const Frames frames = frames_of(op, input, n_fft, options, real_dtype(input.dtype()));
  const int64_t sizes = input.size(-2);
  const bool onesided = options.onesided.value_or(sizes != n_fft);
  check(sizes == (onesided ? n_fft / 2 + 1 : n_fft), op,
        onesided ? "there must be n_fft / 2 + 1 frequencies" : "there must be n_fft frequencies",
        sizes, " for ", n_fft);
  check(!(onesided && options.return_complex), op, "a onesided spectrum is of a real signal",
        "return_complex");
  check(!(frames.window.is_complex() && !options.return_complex), op,
        "a complex window needs return_complex", frames.window.dtype());
  const char* const norm = options.normalized ? "ortho" : "backward";
  const Tensor spectra = (input.dim() == 2 ? input.unsqueeze(0) : input).transpose(1, 2);
  // A real signal is that of the first half, whatever the other one holds.
  Tensor x = options.return_complex
                 ? fft::ifft(spectra, {}, -1, norm)
                 : fft::irfft(spectra.narrow(-1, 0, n_fft / 2 + 1), n_fft, -1, norm);
  x = x * frames.window;
  // Frame t's number i is the signal's number t * hop + i.
  const int64_t count = x.size(1);
  const int64_t whole = n_fft + frames.hop * (count - 1);
  const TensorOptions there{.device = input.device()};
  const Tensor places =
      (arange(count, there).unsqueeze(1) * frames.hop + arange(n_fft, there)).reshape({-1});
  const auto add_up = [&](const Tensor& parts) {
    const Tensor flat = parts.reshape({parts.size(0), count * n_fft});
    const Tensor zero =
        zeros({parts.size(0), whole}, {.dtype = parts.dtype(), .device = there.device});
    return index_add(zero, 1, places, flat);
  };
  const int64_t first = options.center ? n_fft / 2 : 0;
  const int64_t length = options.length.value_or(options.center ? whole - 2 * first : whole);
  check(length >= 1, op, "the signal must have at least 1 number", length);
  const int64_t inside = std::min(length, whole - first);
  const Tensor window = frames.window;
  const Tensor envelope =
      add_up((window * window).expand({1, count, n_fft})).narrow(1, first, inside);
  const Tensor least = amin(abs(envelope.detach()));
  check(input.is_meta() || least.item<double>() > 1e-11, op,
        "the windows must leave no number of the signal out",
        input.is_meta() ? 0.0 : least.item<double>(), " as the least sum of their squares");
  x = add_up(x).narrow(1, first, inside) / envelope;
  if (inside < length) x = resized(x, 1, length);
  return input.dim() == 2 ? x.squeeze(0) : x;
}

namespace {

// The window of `length` numbers by `f` of 0 to 1.
template <class F>
Tensor window(const char* op, int64_t length, bool periodic, const TensorOptions& options,
              const F& f) {
  const CalledOp called(op);
  check(length >= 0, op, "window_length can't be negative", length);
  const DType dtype = options.dtype.value_or(DType::f32);
  check_floating(op, dtype);
  const Tensor numbers = empty({length}, {.dtype = DType::f64});
  const double steps = static_cast<double>(periodic ? length : length - 1);
  for (int64_t i = 0; i < length; ++i)
    numbers.data<double>()[i] = length == 1 ? 1 : f(static_cast<double>(i) / steps);
  return detail::with_requires_grad(numbers.to({.dtype = dtype, .device = options.device}),
                                    options.requires_grad);
}

}  // namespace

Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("hann_window", window_length, periodic, options,
                [](double x) { return 0.5 - 0.5 * std::cos(2 * M_PI * x); });
}
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta,
                      const TensorOptions& options) {
  return window("hamming_window", window_length, periodic, options,
                [=](double x) { return alpha - beta * std::cos(2 * M_PI * x); });
}
Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("blackman_window", window_length, periodic, options, [](double x) {
    return 0.08 * std::cos(4 * M_PI * x) - 0.5 * std::cos(2 * M_PI * x) + 0.42;
  });
}
Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("bartlett_window", window_length, periodic, options,
                [](double x) { return 1 - std::abs(2 * x - 1); });
}
Tensor kaiser_window(int64_t window_length, bool periodic, double beta,
                     const TensorOptions& options) {
  check(beta >= 0, "kaiser_window", "beta can't be negative", beta);
  return window("kaiser_window", window_length, periodic, options, [=](double x) {
    const double root = std::sqrt(std::max(0.0, 1 - (2 * x - 1) * (2 * x - 1)));
    return std::cyl_bessel_i(0, beta * root) / std::cyl_bessel_i(0, beta);
  });
}

}  // namespace aorta
