#pragma once

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/rearrange.h>

#include <optional>

namespace aorta {

/// How stft() cuts a signal. `hop_length` is n_fft / 4 where it isn't given, `win_length` n_fft;
/// the window (win_length), ones where it isn't given, stands in the middle of n_fft zeros.
/// `center`: frame t is about sample t * hop_length, for the signal is padded by n_fft / 2 at both
/// ends. `normalized`: over sqrt(n_fft). `onesided`: n_fft / 2 + 1 frequencies, as for real
/// signals; by default where signal and window are real.
struct StftOptions {
  std::optional<int64_t> hop_length = {};
  std::optional<int64_t> win_length = {};
  Tensor window = {};
  bool center = true;
  PadMode pad_mode = PadMode::reflect;
  bool normalized = false;
  std::optional<bool> onesided = {};
  bool return_complex = true;  // else the parts, as view_as_real gives them
};
/// The spectra of a signal's windows: of (L) or (B, L) a complex (F, T) or (B, F, T) with F
/// frequencies and T = 1 + (L - n_fft) / hop_length frames, L padded. Composed of pad, unfold, mul
/// and fft. Errors: n_fft beyond the padded signal, a window of another size than win_length.
Tensor stft(const Tensor& input, int64_t n_fft, const StftOptions& options = {});

/// How istft() puts a signal together: as stft() has cut it. `length`: the signal's, which is else
/// as long as the frames say. `return_complex`: of a spectrum that isn't onesided.
struct IstftOptions {
  std::optional<int64_t> hop_length = {};
  std::optional<int64_t> win_length = {};
  Tensor window = {};
  bool center = true;
  bool normalized = false;
  std::optional<bool> onesided = {};
  std::optional<int64_t> length = {};
  bool return_complex = false;
};
/// The signal (L) or (B, L) whose stft() is nearest to (F, T) or (B, F, T): the windowed frames'
/// sum over the sum of the windows' squares. Errors: a place where that one is 0.
Tensor istft(const Tensor& input, int64_t n_fft, const IstftOptions& options = {});

/// Windows of `window_length` numbers, for a floating dtype. With `periodic` it is one number
/// shorter than a symmetric one, for use with stft. For x = i / (length - 1): hann: 0.5 - 0.5 cos(2
/// pi x); hamming: alpha - beta cos(2 pi x); blackman: 0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x);
/// bartlett: 1 - |2 x - 1|; kaiser: I0(beta sqrt(1 - (2 x - 1)^2)) / I0(beta).
Tensor hann_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic = true, double alpha = 0.54,
                      double beta = 0.46, const TensorOptions& options = {});
Tensor blackman_window(int64_t window_length, bool periodic = true,
                       const TensorOptions& options = {});
Tensor bartlett_window(int64_t window_length, bool periodic = true,
                       const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, bool periodic = true, double beta = 12,
                     const TensorOptions& options = {});

}  // namespace aorta
