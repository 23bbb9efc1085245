// Bilinear resizing: down first, eight rows of the result at a time, then across, where the eight
// lie side by side so that each weight serves a vector.
#include <aorta/data/images/image_kernels.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace aorta::data::image {
namespace {

// The weights of input pixels in each result pixel along one axis: a triangle, as wide as a result
// pixel where it is larger than an input pixel.
struct Taps {
  Taps(int64_t start, int64_t in, int64_t out, bool antialias) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double width = antialias ? std::max(scale, 1.) : 1.;
    for (int64_t i = 0; i < out; ++i) {
      double centre = (static_cast<double>(i) + 0.5) * scale;
      // Beyond the first and last pixel's centres, bilinear interpolation stays at their values.
      if (!antialias) centre = std::clamp(centre, 0.5, static_cast<double>(in) - 0.5);
      const auto low = std::max<int64_t>(static_cast<int64_t>(centre - width + 0.5), 0);
      const auto high = std::min<int64_t>(static_cast<int64_t>(centre + width + 0.5), in);
      first.push_back(start + low);
      begin.push_back(weights.size());
      double sum = 0;
      for (int64_t j = low; j < high; ++j) {
        const double distance = std::abs((static_cast<double>(j) + 0.5 - centre) / width);
        weights.push_back(static_cast<float>(std::max(0., 1 - distance)));
        sum += std::max(0., 1 - distance);
      }
      for (size_t k = begin.back(); k < weights.size(); ++k)
        weights[k] = static_cast<float>(weights[k] / sum);
    }
    begin.push_back(weights.size());
  }
  std::vector<int64_t> first;  // the first input pixel of each result pixel
  std::vector<size_t> begin;   // where its weights start
  std::vector<float> weights;
};

constexpr int64_t kRows = 8;
using Rows = float __attribute__((vector_size(kRows * sizeof(float))));

// 0 to 255, half to even: where a float's last bit is worth 1.
uint8_t rounded(float value, uint8_t) {
  return static_cast<uint8_t>(std::bit_cast<uint32_t>(value + 0x1p23f));
}
float rounded(float value, float) { return value; }

// sums[x] = the weighted rows at x; `stride` in elements.
template <class T>
void add_rows(const T* row, int64_t stride, const float* weights, size_t taps, int64_t width,
              float* __restrict sums) {
  for (int64_t x = 0; x < width; ++x) sums[x] = weights[0] * static_cast<float>(row[x]);
  for (size_t k = 1; k < taps; ++k) {
    row += stride;
    const float weight = weights[k];
    for (int64_t x = 0; x < width; ++x) sums[x] += weight * static_cast<float>(row[x]);
  }
}

template <class T>
void resize_of(const Tensor& in, const Tensor& out, const Box& box, bool antialias) {
  const int64_t in_width = in.size(-1), in_pixels = in_width * in.size(-2);
  const int64_t width = out.size(-1), height = out.size(-2);
  const Taps across(0, box.width, width, antialias);
  const Taps down(box.top, box.height, height, antialias);
  std::vector<float> rows(static_cast<size_t>(kRows * box.width));     // (8, W)
  std::vector<float> columns(static_cast<size_t>(kRows * box.width));  // (W, 8)
  std::vector<float> wide(static_cast<size_t>(kRows * width));         // (8, W of the result)
  const int64_t frames = width * height == 0 ? 0 : out.numel() / (width * height);
  for (int64_t frame = 0; frame < frames; ++frame) {
    const T* source = static_cast<const T*>(in.data()) + frame * in_pixels + box.left;
    T* result = static_cast<T*>(out.data()) + frame * width * height;
    for (int64_t y = 0; y < height; y += kRows) {
      const int64_t count = std::min(kRows, height - y);
      for (int64_t r = 0; r < count; ++r) {
        const auto i = static_cast<size_t>(y + r);
        add_rows(source + down.first[i] * in_width, in_width, down.weights.data() + down.begin[i],
                 down.begin[i + 1] - down.begin[i], box.width, rows.data() + r * box.width);
      }
      for (int64_t r = 0; r < kRows; ++r)
        for (int64_t x = 0; x < box.width; ++x)
          columns[static_cast<size_t>(x * kRows + r)] =
              rows[static_cast<size_t>(r * box.width + x)];
      for (size_t x = 0; x < across.first.size(); ++x) {
        Rows sums{};
        const float* column = columns.data() + across.first[x] * kRows;
        for (size_t k = across.begin[x]; k < across.begin[x + 1]; ++k, column += kRows) {
          Rows values;
          std::memcpy(&values, column, sizeof values);
          sums += across.weights[k] * values;
        }
        for (int64_t r = 0; r < kRows; ++r) wide[static_cast<size_t>(r * width) + x] = sums[r];
      }
      for (int64_t i = 0; i < count * width; ++i)
        result[y * width + i] = rounded(wide[static_cast<size_t>(i)], T());
    }
  }
}

}  // namespace

void resize_bilinear(const Tensor& in, const Tensor& out, const Box& box, bool antialias) {
  if (in.dtype() == DType::u8)
    resize_of<uint8_t>(in, out, box, antialias);
  else
    resize_of<float>(in, out, box, antialias);
}

}  // namespace aorta::data::image
