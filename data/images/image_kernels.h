#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/image_transforms.h>

// The loops of transforms.h. Tensors are contiguous, their last two dimensions the height and the
// width; `in` and `out` have the same dimensions before those and, except where said, dtype.

namespace aorta::data::image {

/// out(y, x) = in(y + top, x + left); outside of `in` what the mode says. Any dtype.
struct Window {
  int64_t top = 0, left = 0;
  PaddingMode mode = PaddingMode::constant;
  double fill = 0;
};
void window(const Tensor& in, const Tensor& out, const Window& window);

/// Mirrors left and right, or top and bottom, in place. Any dtype.
void flip_horizontal(const Tensor& image);
void flip_vertical(const Tensor& image);

/// From a place (x, y) of the result to one of the input: {a, b, c, d, e, f} is
/// (a x + b y + c, d x + e y + f), in pixels, (0, 0) the centre of the first.
using Matrix = std::array<double, 6>;
/// Nearest for any dtype, bilinear for u8 and f32. Both frames have one size.
void warp(const Tensor& in, const Tensor& out, const Matrix& to_input, Interpolation interpolation,
          double fill);

/// A part of the input, to be stretched to the whole result.
struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};
/// u8 and f32.
void resize_bilinear(const Tensor& in, const Tensor& out, const Box& box, bool antialias);
/// The nearest pixel, any dtype.
void resize_nearest(const Tensor& in, const Tensor& out, const Box& box);

/// u8 / 255 as f32.
void to_float(const Tensor& in, const Tensor& out);

// In place, u8 and f32 unless said. `channels` planes-or-videos lie one after another.

/// f32; as many numbers as channels, or one.
void normalize(const Tensor& image, const std::vector<double>& mean,
               const std::vector<double>& std);
void adjust_brightness(const Tensor& image, double factor);
void adjust_contrast(const Tensor& image, double factor);
void adjust_saturation(const Tensor& image, double factor);
void adjust_hue(const Tensor& image, double factor);
void adjust_gamma(const Tensor& image, double gamma);
/// x * (1 + speckle * n) + sigma * m + mean in units of white, with `noise` holding n (one a pixel,
/// shared by the channels) or m (one an element).
void add_speckle(const Tensor& image, const Tensor& noise, double std, bool clip);
void add_noise(const Tensor& image, const Tensor& noise, double mean, double sigma, bool clip);

}  // namespace aorta::data::image
