// The loops that change intensities; torchvision's arithmetic, in f32, and its cut to u8.
#include <aorta/data/images/image_kernels.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace aorta::data::image {
namespace {

// channels planes-or-videos of `frames` frames; (H, W) is one channel of one frame.
struct Layout {
  int64_t channels, frames, pixels;
  int64_t stride() const { return frames * pixels; }  // between channels
};

Layout layout_of(const Tensor& image) {
  const int64_t pixels = image.size(-2) * image.size(-1);
  const int64_t channels = image.dim() > 2 ? image.size(0) : 1;
  const int64_t frames = image.dim() > 3 ? image.size(1) : 1;
  return {channels, frames, pixels};
}

constexpr float white(uint8_t) { return 255; }
constexpr float white(float) { return 1; }
// What torchvision's clamp and conversion do.
float clamped(float value, float most) {
  return value < 0 ? 0 : value > most ? most : value;  // keeps NaN
}
uint8_t cut(float value, uint8_t) {
  return static_cast<uint8_t>(static_cast<int>(clamped(value, 255)));
}
float cut(float value, float) { return clamped(value, 1); }

// Calls f with a pointer to the first element, u8 or f32.
template <class F>
void by_type(const Tensor& image, const F& f) {
  if (image.dtype() == DType::u8)
    f(image.data<uint8_t>());
  else
    f(image.data<float>());
}

// x becomes f(x), f from float to float; by a table where there are 256 values only.
template <class F>
void map(uint8_t* data, int64_t count, const F& f) {
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) table[i] = cut(f(static_cast<float>(i)), uint8_t());
  for (int64_t i = 0; i < count; ++i) data[i] = table[data[i]];
}
template <class F>
void map(float* data, int64_t count, const F& f) {
  for (int64_t i = 0; i < count; ++i) data[i] = cut(f(data[i]), 0.f);
}

template <class T>
float luma(const T* pixel, int64_t stride) {
  const float value = 0.2989f * static_cast<float>(pixel[0]) +
                      0.587f * static_cast<float>(pixel[stride]) +
                      0.114f * static_cast<float>(pixel[2 * stride]);
  return std::is_same_v<T, uint8_t> ? static_cast<float>(static_cast<int>(value)) : value;
}

// The mean over a frame of what the picture is in grey. Eight sums, so that they can run together.
template <class T>
float mean_of(const T* frame, const Layout& layout) {
  double sums[8] = {};
  const int64_t stride = layout.stride();
  const auto add = [&](const auto& grey) {
    int64_t i = 0;
    for (; i + 8 <= layout.pixels; i += 8)
      for (int64_t j = 0; j < 8; ++j) sums[j] += static_cast<double>(grey(i + j));
    for (; i < layout.pixels; ++i) sums[0] += static_cast<double>(grey(i));
  };
  if (layout.channels == 3)
    add([&](int64_t i) { return luma(frame + i, stride); });
  else
    add([&](int64_t i) { return static_cast<float>(frame[i]); });
  double sum = 0;
  for (const double part : sums) sum += part;
  return static_cast<float>(sum / static_cast<double>(layout.pixels));
}

struct Colour {
  float r, g, b;
};

// Hue as Pillow and torchvision have it: 0 to 1 around the circle.
Colour shift_hue(const Colour& colour, float shift) {
  const float high = std::max({colour.r, colour.g, colour.b});
  const float low = std::min({colour.r, colour.g, colour.b});
  if (high == low) return colour;
  const float range = high - low, saturation = range / high;
  const float r = (high - colour.r) / range, g = (high - colour.g) / range,
              b = (high - colour.b) / range;
  float hue = high == colour.r ? b - g : high == colour.g ? 2 + r - b : 4 + g - r;
  hue = std::fmod(hue / 6 + 1, 1.f) + shift;
  hue -= std::floor(hue);
  const float sixth = std::floor(hue * 6), part = hue * 6 - sixth;
  const float p = std::clamp(high * (1 - saturation), 0.f, 1.f);
  const float q = std::clamp(high * (1 - saturation * part), 0.f, 1.f);
  const float t = std::clamp(high * (1 - saturation * (1 - part)), 0.f, 1.f);
  switch (static_cast<int>(sixth) % 6) {
    case 0:
      return {high, t, p};
    case 1:
      return {q, high, p};
    case 2:
      return {p, high, t};
    case 3:
      return {p, q, high};
    case 4:
      return {t, p, high};
    default:
      return {high, p, q};
  }
}

template <class T>
void hue_of(T* data, const Layout& layout, float shift) {
  const int64_t stride = layout.stride();
  // u8 from [0, 1] is x * 255.999, cut, as torchvision has it.
  const bool bytes = std::is_same_v<T, uint8_t>;
  const float in = bytes ? 1.f / 255 : 1.f, out = bytes ? 256 - 1e-3f : 1.f;
  for (int64_t i = 0; i < stride; ++i) {
    T* pixel = data + i;
    const Colour shifted =
        shift_hue({static_cast<float>(pixel[0]) * in, static_cast<float>(pixel[stride]) * in,
                   static_cast<float>(pixel[2 * stride]) * in},
                  shift);
    pixel[0] = static_cast<T>(shifted.r * out);
    pixel[stride] = static_cast<T>(shifted.g * out);
    pixel[2 * stride] = static_cast<T>(shifted.b * out);
  }
}

template <class T>
T noisy(float value, bool clip) {
  // The nearest, half to even: where a float's last bit is worth 1.
  if (std::is_same_v<T, uint8_t>)
    return static_cast<T>(std::bit_cast<uint32_t>(clamped(value, 255) + 0x1p23f));
  return static_cast<T>(clip ? clamped(value, 1) : value);
}

}  // namespace

void to_float(const Tensor& in, const Tensor& out) {
  const auto* from = in.data<uint8_t>();
  auto* to = out.data<float>();
  for (int64_t i = 0; i < in.numel(); ++i) to[i] = static_cast<float>(from[i]) * (1.f / 255);
}

void normalize(const Tensor& image, const std::vector<double>& mean,
               const std::vector<double>& std) {
  const Layout layout = layout_of(image);
  auto* data = image.data<float>();
  for (int64_t c = 0; c < layout.channels; ++c) {
    const auto at = [&](const std::vector<double>& values) {
      return static_cast<float>(values.size() == 1 ? values[0] : values[static_cast<size_t>(c)]);
    };
    const float m = at(mean), s = at(std);
    for (int64_t i = 0; i < layout.stride(); ++i, ++data) *data = (*data - m) / s;
  }
}

void adjust_brightness(const Tensor& image, double factor) {
  const auto f = static_cast<float>(factor);
  by_type(image, [&](auto* data) { map(data, image.numel(), [&](float x) { return x * f; }); });
}

void adjust_contrast(const Tensor& image, double factor) {
  const Layout layout = layout_of(image);
  const auto f = static_cast<float>(factor), rest = static_cast<float>(1 - factor);
  by_type(image, [&](auto* data) {
    for (int64_t t = 0; t < layout.frames; ++t) {
      auto* frame = data + t * layout.pixels;
      const float grey = rest * mean_of(frame, layout);
      for (int64_t c = 0; c < layout.channels; ++c)
        map(frame + c * layout.stride(), layout.pixels, [&](float x) { return x * f + grey; });
    }
  });
}

void adjust_saturation(const Tensor& image, double factor) {
  const Layout layout = layout_of(image);
  if (layout.channels != 3) return;
  const auto f = static_cast<float>(factor), rest = static_cast<float>(1 - factor);
  const int64_t stride = layout.stride();
  by_type(image, [&]<class T>(T* data) {
    T* __restrict red = data, * __restrict green = data + stride, * __restrict blue = data + 2 * stride;
    for (int64_t i = 0; i < stride; ++i) {
      const float r = static_cast<float>(red[i]), g = static_cast<float>(green[i]),
                  b = static_cast<float>(blue[i]);
      float grey = 0.2989f * r + 0.587f * g + 0.114f * b;
      if (std::is_same_v<T, uint8_t>) grey = static_cast<float>(static_cast<int>(grey));
      grey *= rest;
      red[i] = cut(r * f + grey, T());
      green[i] = cut(g * f + grey, T());
      blue[i] = cut(b * f + grey, T());
    }
  });
}

void adjust_hue(const Tensor& image, double factor) {
  const Layout layout = layout_of(image);
  if (layout.channels != 3) return;
  by_type(image, [&](auto* data) { hue_of(data, layout, static_cast<float>(factor)); });
}

void adjust_gamma(const Tensor& image, double gamma) {
  const auto power = static_cast<float>(gamma);
  if (image.dtype() == DType::u8)
    map(image.data<uint8_t>(), image.numel(),
        [&](float x) { return std::pow(x * (1.f / 255), power) * (256 - 1e-3f); });
  else
    for (float& x : std::span(image.data<float>(), static_cast<size_t>(image.numel())))
      x = std::pow(x, power);
}

void add_speckle(const Tensor& image, const Tensor& noise, double std, bool clip) {
  const int64_t stride = layout_of(image).stride();
  const auto* n = noise.data<float>();
  const auto s = static_cast<float>(std);
  by_type(image, [&]<class T>(T* data) {
    for (int64_t first = 0; first < image.numel(); first += stride)
      for (int64_t i = 0; i < stride; ++i)
        data[first + i] = noisy<T>(static_cast<float>(data[first + i]) * (1 + s * n[i]), clip);
  });
}

void add_noise(const Tensor& image, const Tensor& noise, double mean, double sigma, bool clip) {
  const auto* n = noise.data<float>();
  by_type(image, [&]<class T>(T* data) {
    const float unit = white(T()), m = static_cast<float>(mean) * unit,
                s = static_cast<float>(sigma) * unit;
    for (int64_t i = 0; i < image.numel(); ++i)
      data[i] = noisy<T>(static_cast<float>(data[i]) + m + s * n[i], clip);
  });
}

}  // namespace aorta::data::image
