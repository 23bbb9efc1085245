#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

// The transforms of transforms.h, with torchvision's names, defaults and meanings
// (torchvision.transforms.v2): plain values, made by name: RandomCrop{.size = 112, .padding = 12}.
// Ranges {low, high} are drawn from uniformly.

namespace aorta::data {

/// Height and width in pixels; one number is a square.
struct FrameSize {
  int64_t height = 0, width = 0;
  FrameSize() = default;
  FrameSize(int64_t side) : height(side), width(side) {}  // NOLINT: implicit, as in torchvision
  FrameSize(int64_t rows, int64_t columns) : height(rows), width(columns) {}
  bool operator==(const FrameSize&) const = default;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(height, width);
  }
};
/// "112 x 112".
std::string to_string(const FrameSize& size);

/// Pixels on each side: one number for all, two for left and right, top and bottom, or four.
struct PadSizes {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
  PadSizes() = default;
  PadSizes(int64_t all) : PadSizes(all, all) {}  // NOLINT: implicit, as in torchvision
  PadSizes(int64_t x, int64_t y) : PadSizes(x, y, x, y) {}
  PadSizes(int64_t l, int64_t t, int64_t r, int64_t b) : left(l), top(t), right(r), bottom(b) {}
  template <class Visit>
  void fields(Visit&& visit) {
    visit(left, top, right, bottom);
  }
};

/// What lies outside an image: `fill`, which the image's dtype must hold (a mask's `mask_fill`),
/// its last pixel, its mirror image without or with that pixel.
enum class PaddingMode { constant, edge, reflect, symmetric };
enum class Interpolation { nearest, bilinear };
/// {low, high}. (No aggregate: the numbers of `ColorJitter{0.4, 0.4}` would be one range's ends.)
struct Range : std::array<double, 2> {
  Range() : Range(0, 0) {}
  Range(double low, double high) : std::array<double, 2>{low, high} {}
  template <class Visit>
  void fields(Visit&& visit) {
    visit((*this)[0], (*this)[1]);
  }
};

// --- Geometry: images, masks and points.

/// The middle of an image, with zeros around an image that is smaller.
struct CenterCrop {
  FrameSize size;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(size);
  }
};

/// A part of an image at a random place, after padding it. `pad_if_needed`: images that are too
/// small are padded on both sides by what they lack. Masks are padded with `mask_fill`.
struct RandomCrop {
  FrameSize size;
  PadSizes padding = {};
  bool pad_if_needed = false;
  double fill = 0;
  PaddingMode padding_mode = PaddingMode::constant;
  double mask_fill = 0;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(size, padding, pad_if_needed, fill, padding_mode, mask_fill);
  }
};

/// Adds pixels around an image: `fill`, or those that padding_mode says; masks get `mask_fill`.
struct Pad {
  PadSizes padding;
  double fill = 0;
  PaddingMode padding_mode = PaddingMode::constant;
  double mask_fill = 0;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(padding, fill, padding_mode, mask_fill);
  }
};

/// Turns left into right with probability p.
struct RandomHorizontalFlip {
  double p = 0.5;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(p);
  }
};

/// Turns top into bottom with probability p.
struct RandomVerticalFlip {
  double p = 0.5;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(p);
  }
};

/// Turns by `angle` degrees clockwise about `center` (x, y; the image's when left out), shears by
/// `shear` degrees along x and y, scales, and moves by `translate` pixels to the right and down.
/// Bilinear for images unless said, nearest for masks; between the image's edge and what is
/// outside, `fill` and the image are mixed by their shares.
struct Affine {
  double angle = 0;
  std::array<double, 2> translate = {0, 0};
  double scale = 1;
  std::array<double, 2> shear = {0, 0};
  List<double> center = {};
  Interpolation interpolation = Interpolation::bilinear;
  double fill = 0, mask_fill = 0;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(angle, translate, scale, shear, center, interpolation, fill, mask_fill);
  }
};

/// Affine by random numbers: an angle, moves of up to `translate` times the width and the height
/// (in whole pixels), a scale, and shears. torchvision interpolates by nearest unless told.
struct RandomAffine {
  Range degrees = {0, 0};
  std::array<double, 2> translate = {0, 0};
  Range scale = {1, 1};
  Range shear = {0, 0}, shear_y = {0, 0};
  List<double> center = {};
  Interpolation interpolation = Interpolation::bilinear;
  double fill = 0, mask_fill = 0;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(degrees, translate, scale, shear, shear_y, center, interpolation, fill, mask_fill);
  }
};

/// To the size whose shorter edge is `shorter_edge`, or to `size`. Bilinear, with a wider kernel
/// where it shrinks an image unless antialias is off; masks take the nearest pixel (torchvision's
/// NEAREST_EXACT, which doesn't shift them).
struct Resize {
  int64_t shorter_edge = 0;
  FrameSize size = {};
  bool antialias = true;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(size, shorter_edge, antialias);
  }
};

/// A part of random area (`scale`, a share of the image's) and proportions (`ratio`, width over
/// height) at a random place, resized to `size` (Szegedy et al. 2015).
struct RandomResizedCrop {
  FrameSize size;
  Range scale = {0.08, 1};
  Range ratio = {3. / 4, 4. / 3};
  bool antialias = true;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(size, scale, ratio, antialias);
  }
};

// --- Intensity: images alone. 1 is white in f32 and 255 in u8; u8 results are cut to whole numbers
// as torchvision cuts them. Contrast, saturation and hue need 1 or 3 channels.

/// u8 to f32, divided by 255; f32 stays (torchvision: ToDtype(float32, scale=True)).
struct ToFloat {
  template <class Visit>
  void fields(Visit&&) {}
};

/// (x - mean) / std of each channel of an f32 image; one number serves all channels.
struct Normalize {
  List<double> mean, std;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(mean, std);
  }
};

/// Factors drawn from ranges (torchvision's brightness=0.2 is {0.8, 1.2} here), hue a part of the
/// colour circle, -0.5 to 0.5; applied in random order.
struct ColorJitter {
  Range brightness = {1, 1}, contrast = {1, 1}, saturation = {1, 1}, hue = {0, 0};
  template <class Visit>
  void fields(Visit&& visit) {
    visit(brightness, contrast, saturation, hue);
  }
};

/// x^gamma for x from 0 to 1, with gamma from a range.
struct RandomGamma {
  Range gamma = {0.8, 1.25};
  template <class Visit>
  void fields(Visit&& visit) {
    visit(gamma);
  }
};

/// x + sigma n + mean with n normal, in units of white; `clip`: to what the dtype or [0, 1] holds.
struct GaussianNoise {
  double mean = 0, sigma = 0.1;
  bool clip = true;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(mean, sigma, clip);
  }
};

/// x (1 + std n) with n normal, one number a pixel for all its channels: the grain of ultrasound.
struct SpeckleNoise {
  double std = 0.1;
  bool clip = true;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(std, clip);
  }
};

}  // namespace aorta::data
