#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <algorithm>
#include <cmath>
#include <numbers>

// Fourier transforms as products with a matrix of cosines and sines, in f64 and rounded once,
// complex numbers as pairs in the last dimension; windows.
namespace aorta::onnx {
namespace {

// cos and sin of 2 pi n k / size, (rows, columns), by whole turns.
struct Turns {
  Tensor cos, sin;
};
Turns turns_of(int64_t rows, int64_t columns, int64_t size, const Tensor& like) {
  const TensorOptions numbers{.dtype = i64, .device = like.device()};
  const Tensor places =
      remainder(mul(arange(rows, numbers).unsqueeze(1), arange(columns, numbers)), size);
  const Tensor angles = mul(places.to(f64), 2 * std::numbers::pi / static_cast<double>(size));
  return {cos(angles), sin(angles)};
}

// Cut, or filled up with zeros, along the dimension before the last.
Tensor with_length(const Tensor& x, int64_t length) {
  const int64_t size = x.size(-2);
  return length < size ? x.narrow(-2, 0, length) : pad(x, {0, 0, 0, length - size});
}

// Along the dimension before the last.
Tensor transformed(const Tensor& x, int64_t length, bool inverse, bool onesided) {
  check(length >= 1 && length < int64_t{1} << 31, "DFT", "the length must be 1 to 2147483647",
        length);
  const int64_t half = length / 2 + 1;
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  if (inverse && onesided) {  // the other half are the conjugates of this one
    check(x.size(-1) == 2, "DFT", "a spectrum must be complex", x.shape());
    const Tensor spectrum = with_length(x, half).to(f64);
    const TensorOptions numbers{.dtype = i64, .device = x.device()};
    const Tensor k = arange(half, numbers);
    const Tensor alone = logical_or(eq(k, 0), eq(mul(k, 2), length));
    const Tensor count = where(alone, 1.0, 2.0).to(f64).unsqueeze(1);
    const Turns turns = turns_of(half, length, length, x);
    const Tensor y = sub(matmul(spectrum.select(-1, 0), mul(turns.cos, count)),
                         matmul(spectrum.select(-1, 1), mul(turns.sin, count)));
    return mul(y, scale).unsqueeze(-1).to(x.dtype());
  }
  check(x.size(-1) == 1 || (x.size(-1) == 2 && !onesided), "DFT",
        "input must be of real numbers, or of complex ones for both sides", x.shape());
  const Tensor signal = with_length(x, length).to(f64);
  const Turns turns = turns_of(length, onesided ? half : length, length, x);
  const Tensor sin = inverse ? neg(turns.sin) : turns.sin;
  const Tensor real = signal.select(-1, 0);
  Tensor y = matmul(real, turns.cos), z = neg(matmul(real, sin));
  if (x.size(-1) == 2) {
    const Tensor imaginary = signal.select(-1, 1);
    y = add(y, matmul(imaginary, sin));
    z = add(z, matmul(imaginary, turns.cos));
  }
  return mul(stack({y, z}, -1), scale).to(x.dtype());
}

Run dft(const Node& node) {
  const bool inverse = node.flag("inverse", false), onesided = node.flag("onesided", false);
  const int64_t given = node.opset() < 20 ? node.integer("axis", 1) : -2;
  return [=](const Inputs& x) -> Tensors {
    const int axis = wrap_dim("DFT", x.has(2) ? x[2].item<int64_t>() : given, x[0].dim());
    check(axis < x[0].dim() - 1, "DFT", "axis must be one of the signal's", axis);
    const Tensor signal = movedim(x[0], axis, -2);
    const int64_t size = signal.size(-2);
    const int64_t length = x.has(1)              ? x[1].item<int64_t>()
                           : inverse && onesided ? 2 * (size - 1)
                                                 : size;
    return {movedim(transformed(signal, length, inverse, onesided), -2, axis)};
  };
}

Run stft(const Node& node) {
  const bool onesided = node.flag("onesided", true);
  return [=](const Inputs& x) -> Tensors {
    check(x[0].dim() == 3, "STFT", "signal must be (N, T, 1) or (N, T, 2)", x[0].shape());
    const int64_t step = x[1].item<int64_t>();
    const int64_t length = x.has(3) ? x[3].item<int64_t>() : x.has(2) ? x[2].numel() : x[0].size(1);
    Tensor frames = movedim(unfold(x[0], 1, length, step), -1, -2);  // (N, frames, length, 1 or 2)
    if (x.has(2)) frames = mul(frames, x[2].unsqueeze(1));
    return {transformed(frames, length, false, onesided)};
  };
}

// The sum of terms[i] cos(2 pi i n / size).
template <size_t count>
Run window(const Node& node, const double (&terms)[count]) {
  const bool periodic = node.flag("periodic", true);
  const DType dtype = node.dtype("output_datatype").value_or(f32);
  const std::vector<double> factors(terms, terms + count);
  return [=](const Inputs& x) -> Tensors {
    const int64_t size = x[0].item<int64_t>();
    check(size >= 0, "window", "size must not be negative", size);
    const Tensor n = arange(size, {.dtype = f64, .device = x[0].device()});
    const auto turn = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
    Tensor sum = zeros_like(n);
    for (size_t i = 0; i < count; ++i)
      sum = add(sum,
                mul(cos(mul(n, 2 * std::numbers::pi * static_cast<double>(i) / turn)), factors[i]));
    return {sum.to(dtype)};
  };
}

// Triangles whose corners are evenly apart in mel, at whole places of the spectrum.
Run mel_weights(const Node& node) {
  const DType dtype = node.dtype("output_datatype").value_or(f32);
  return [=](const Inputs& x) -> Tensors {
    const int64_t bins = x[0].item<int64_t>(), length = x[1].item<int64_t>();
    const auto rate = x[2].item<double>();
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = mel(x[3].item<double>()), high = mel(x[4].item<double>());
    check(bins >= 0 && bins < 1 << 20 && length >= 0 && length < int64_t{1} << 31 && rate > 0,
          "MelWeightMatrix",
          "num_mel_bins, dft_length and sample_rate must be positive, below 2^20 and 2^31", bins,
          ", ", length, ", ", rate);
    const int64_t places = length / 2 + 1;
    const double step = (high - low) / static_cast<double>(bins + 2);
    std::vector<int64_t> corners;
    for (int64_t i = 0; i < bins + 2; ++i) {
      const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
      const double place = std::floor(static_cast<double>(length + 1) * hertz / rate);
      check(place >= 0 && place < static_cast<double>(places), "MelWeightMatrix",
            "the edges must lie in the spectrum", place, " of ", places);
      corners.push_back(static_cast<int64_t>(place));
    }
    const auto column = [&](size_t first) {
      const std::vector<int64_t> part(
          corners.begin() + static_cast<ptrdiff_t>(first),
          corners.begin() + static_cast<ptrdiff_t>(first) + static_cast<ptrdiff_t>(bins));
      return tensor(part);
    };
    const Tensor left = column(0), middle = column(1), right = column(2);
    const Tensor j = arange(places, {.dtype = i64}).unsqueeze(1);
    const Tensor up = div(sub(j, left).to(f64), clamp(sub(middle, left), 1).to(f64));
    const Tensor down = div(sub(right, j).to(f64), clamp(sub(right, middle), 1).to(f64));
    // The middle is 1 from either side, where the other has no width too.
    Tensor weights = where(logical_and(ge(j, left), lt(j, middle)), up, 0.0);
    weights = where(logical_and(gt(j, middle), lt(j, right)), down, weights);
    return {where(eq(j, middle), 1.0, weights).to(dtype)};
  };
}

}  // namespace

void add_signals(Operators& table) {
  table["BlackmanWindow"] = {[](const Node& node) { return window(node, {0.42, -0.5, 0.08}); }};
  table["DFT"] = {dft, 1, 3};
  table["HammingWindow"] = {[](const Node& node) { return window(node, {25.0 / 46, -21.0 / 46}); }};
  table["HannWindow"] = {[](const Node& node) { return window(node, {0.5, -0.5}); }};
  table["MelWeightMatrix"] = {mel_weights, 5, 5, 1, {3, 4}};
  table["STFT"] = {stft, 2, 4, 1, {2}};
}

}  // namespace aorta::onnx
