#include <aorta/core/ops/creation.h>
#include <aorta/data/image_kernels.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace aorta::data::image {
namespace {

struct Frames {
  int64_t count, height, width;  // count frames, one after another
  int64_t pixels() const { return height * width; }
};

Frames frames_of(const Tensor& image) {
  const int64_t height = image.size(-2), width = image.size(-1);
  const int64_t pixels = height * width;
  return {pixels == 0 ? 0 : image.numel() / pixels, height, width};
}

// Calls f with a null pointer to an unsigned integer of the elements' size.
template <class F>
void by_size(const Tensor& image, const F& f) {
  switch (item_size(image.dtype())) {
    case 1:
      return f(static_cast<uint8_t*>(nullptr));
    case 2:
      return f(static_cast<uint16_t*>(nullptr));
    case 4:
      return f(static_cast<uint32_t*>(nullptr));
    default:
      return f(static_cast<uint64_t*>(nullptr));
  }
}

// `value` as an element of the dtype, in the low bytes.
uint64_t element_bits(DType dtype, double value) {
  if (dtype == DType::u8) value = std::clamp(value, 0., 255.);
  const Tensor element = full({}, value, {.dtype = dtype});
  uint64_t bits = 0;
  std::memcpy(&bits, element.data(), static_cast<size_t>(item_size(dtype)));
  return bits;
}

// Where coordinate i of a padded axis lies in 0 ... size - 1; -1 outside, in constant mode.
int64_t source_of(int64_t i, int64_t size, PaddingMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PaddingMode::constant:
      return -1;
    case PaddingMode::edge:
      return std::clamp<int64_t>(i, 0, size - 1);
    case PaddingMode::reflect:
      return i < 0 ? -i : 2 * (size - 1) - i;
    case PaddingMode::symmetric:
      return i < 0 ? -i - 1 : 2 * size - 1 - i;
  }
  return -1;
}

template <class T>
void window_of(const Tensor& in, const Tensor& out, const Window& window) {
  const Frames from = frames_of(in), to = frames_of(out);
  const T fill = static_cast<T>(element_bits(in.dtype(), window.fill));
  // Columns [first, last) lie in the input as they are.
  const int64_t first = std::clamp<int64_t>(-window.left, 0, to.width);
  const int64_t last = std::clamp<int64_t>(from.width - window.left, first, to.width);
  const auto* source = static_cast<const T*>(in.data());
  auto* result = static_cast<T*>(out.data());
  for (int64_t frame = 0; frame < to.count; ++frame) {
    for (int64_t y = 0; y < to.height; ++y) {
      T* row = result + (frame * to.height + y) * to.width;
      const int64_t from_y = source_of(y + window.top, from.height, window.mode);
      if (from_y < 0) {
        std::fill(row, row + to.width, fill);
        continue;
      }
      const T* from_row = source + (frame * from.height + from_y) * from.width;
      const auto outside = [&](int64_t x) {
        const int64_t from_x = source_of(x + window.left, from.width, window.mode);
        row[x] = from_x < 0 ? fill : from_row[from_x];
      };
      for (int64_t x = 0; x < first; ++x) outside(x);
      if (last > first)
        std::memcpy(row + first, from_row + first + window.left,
                    static_cast<size_t>(last - first) * sizeof(T));
      for (int64_t x = last; x < to.width; ++x) outside(x);
    }
  }
}

uint8_t rounded(float value, uint8_t) { return static_cast<uint8_t>(std::lrintf(value)); }
float rounded(float value, float) { return value; }

// Where the pixels of a row of the result come from.
struct Place {
  int32_t offset;     // of the pixel up and left
  float right, down;  // the shares of its neighbours
};

template <class T>
class BilinearWarp {
 public:
  BilinearWarp(const Tensor& in, const Tensor& out, const Matrix& matrix, double fill)
      : size_(frames_of(in)),
        in_(static_cast<const T*>(in.data())),
        out_(static_cast<T*>(out.data())),
        m_(matrix),
        fill_(static_cast<float>(fill)),
        places_(static_cast<size_t>(size_.width)) {}

  void run() {
    for (int64_t y = 0; y < size_.height; ++y) {
      find_places(y);
      for (int64_t frame = 0; frame < size_.count; ++frame) row(frame, y);
    }
  }

 private:
  void source(int64_t x, int64_t y, double& u, double& v) const {
    const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
    u = m_[0] * dx + m_[1] * dy + m_[2];
    v = m_[3] * dx + m_[4] * dy + m_[5];
  }

  // Columns [inner_first_, inner_last_) have all four neighbours; what has them is convex.
  void find_places(int64_t y) {
    inner_first_ = inner_last_ = 0;
    const auto right = static_cast<double>(size_.width - 1);
    const auto bottom = static_cast<double>(size_.height - 1);
    for (int64_t x = 0; x < size_.width; ++x) {
      double u, v;
      source(x, y, u, v);
      if (!(u >= 0 && v >= 0 && u < right && v < bottom)) continue;
      if (inner_last_ == 0) inner_first_ = x;
      inner_last_ = x + 1;
      const auto left = static_cast<int64_t>(u), top = static_cast<int64_t>(v);
      places_[static_cast<size_t>(x)] = {static_cast<int32_t>(top * size_.width + left),
                                         static_cast<float>(u - static_cast<double>(left)),
                                         static_cast<float>(v - static_cast<double>(top))};
    }
  }

  void row(int64_t frame, int64_t y) {
    const T* from = in_ + frame * size_.pixels();
    T* to = out_ + (frame * size_.height + y) * size_.width;
    for (int64_t x = 0; x < inner_first_; ++x) to[x] = at_edge(from, x, y);
    for (int64_t x = inner_first_; x < inner_last_; ++x) {
      const Place& place = places_[static_cast<size_t>(x)];
      const T* p = from + place.offset;
      const T* q = p + size_.width;
      const float upper = static_cast<float>(p[0]) +
                          place.right * (static_cast<float>(p[1]) - static_cast<float>(p[0]));
      const float lower = static_cast<float>(q[0]) +
                          place.right * (static_cast<float>(q[1]) - static_cast<float>(q[0]));
      to[x] = rounded(upper + place.down * (lower - upper), T());
    }
    for (int64_t x = inner_last_; x < size_.width; ++x) to[x] = at_edge(from, x, y);
  }

  T at_edge(const T* from, int64_t x, int64_t y) const {
    double u, v;
    source(x, y, u, v);
    // Far outside, and NaN: no neighbour.
    if (!(u > -1 && v > -1 && u < static_cast<double>(size_.width) &&
          v < static_cast<double>(size_.height)))
      return rounded(fill_, T());
    const auto left = static_cast<int64_t>(std::floor(u)),
               top = static_cast<int64_t>(std::floor(v));
    const float right = static_cast<float>(u - static_cast<double>(left));
    const float down = static_cast<float>(v - static_cast<double>(top));
    float value = 0, share = 0;
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t i = 0; i < 2; ++i) {
        const int64_t column = left + i, line = top + j;
        if (column < 0 || line < 0 || column >= size_.width || line >= size_.height) continue;
        const float weight = (i ? right : 1 - right) * (j ? down : 1 - down);
        value += weight * static_cast<float>(from[line * size_.width + column]);
        share += weight;
      }
    }
    return rounded(value + (1 - share) * fill_, T());
  }

  Frames size_;
  const T* in_;
  T* out_;
  Matrix m_;
  float fill_;
  std::vector<Place> places_;
  int64_t inner_first_ = 0, inner_last_ = 0;
};

template <class T>
void warp_nearest(const Tensor& in, const Tensor& out, const Matrix& m, double fill_value) {
  const Frames size = frames_of(in);
  const T fill = static_cast<T>(element_bits(in.dtype(), fill_value));
  const auto* source = static_cast<const T*>(in.data());
  auto* result = static_cast<T*>(out.data());
  std::vector<int64_t> offsets(static_cast<size_t>(size.width));
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
      const double u = std::nearbyint(m[0] * dx + m[1] * dy + m[2]);
      const double v = std::nearbyint(m[3] * dx + m[4] * dy + m[5]);
      const bool inside = u >= 0 && v >= 0 && u < static_cast<double>(size.width) &&
                          v < static_cast<double>(size.height);
      offsets[static_cast<size_t>(x)] =
          inside ? static_cast<int64_t>(v) * size.width + static_cast<int64_t>(u) : -1;
    }
    for (int64_t frame = 0; frame < size.count; ++frame) {
      const T* from = source + frame * size.pixels();
      T* to = result + (frame * size.height + y) * size.width;
      for (int64_t x = 0; x < size.width; ++x) {
        const int64_t offset = offsets[static_cast<size_t>(x)];
        to[x] = offset < 0 ? fill : from[offset];
      }
    }
  }
}

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

template <class T>
void resize_of(const Tensor& in, const Tensor& out, const Box& box, bool antialias) {
  const Frames from = frames_of(in), to = frames_of(out);
  const Taps across(box.left, box.width, to.width, antialias);
  const Taps down(0, box.height, to.height, antialias);
  std::vector<float> narrow(static_cast<size_t>(box.height * to.width));
  std::vector<float> sum(static_cast<size_t>(to.width));
  for (int64_t frame = 0; frame < to.count; ++frame) {
    const T* source = static_cast<const T*>(in.data()) + frame * from.pixels();
    for (int64_t y = 0; y < box.height; ++y) {
      const T* row = source + (y + box.top) * from.width;
      float* result = narrow.data() + y * to.width;
      for (size_t x = 0; x < across.first.size(); ++x) {
        const T* pixel = row + across.first[x];
        float value = 0;
        for (size_t k = across.begin[x]; k < across.begin[x + 1]; ++k)
          value += across.weights[k] * static_cast<float>(*pixel++);
        result[x] = value;
      }
    }
    T* result = static_cast<T*>(out.data()) + frame * to.pixels();
    for (size_t y = 0; y < down.first.size(); ++y) {
      std::fill(sum.begin(), sum.end(), 0.f);
      const float* row = narrow.data() + down.first[y] * to.width;
      for (size_t k = down.begin[y]; k < down.begin[y + 1]; ++k, row += to.width)
        for (size_t x = 0; x < sum.size(); ++x) sum[x] += down.weights[k] * row[x];
      for (const float value : sum) *result++ = rounded(value, T());
    }
  }
}

template <class T>
void resize_nearest_of(const Tensor& in, const Tensor& out, const Box& box) {
  const Frames from = frames_of(in), to = frames_of(out);
  const auto nearest = [](int64_t i, int64_t size, int64_t result) {
    const double place =
        (static_cast<double>(i) + 0.5) * static_cast<double>(size) / static_cast<double>(result);
    return std::min<int64_t>(static_cast<int64_t>(place), size - 1);
  };
  std::vector<int64_t> columns;
  for (int64_t x = 0; x < to.width; ++x)
    columns.push_back(box.left + nearest(x, box.width, to.width));
  auto* result = static_cast<T*>(out.data());
  for (int64_t frame = 0; frame < to.count; ++frame) {
    for (int64_t y = 0; y < to.height; ++y) {
      const T* row = static_cast<const T*>(in.data()) + frame * from.pixels() +
                     (box.top + nearest(y, box.height, to.height)) * from.width;
      for (const int64_t x : columns) *result++ = row[x];
    }
  }
}

}  // namespace

void window(const Tensor& in, const Tensor& out, const Window& what) {
  by_size(in, [&](auto* type) { window_of<std::remove_pointer_t<decltype(type)>>(in, out, what); });
}

void flip_horizontal(const Tensor& image) {
  by_size(image, [&](auto* type) {
    const Frames size = frames_of(image);
    auto* row = static_cast<decltype(type)>(image.data());
    for (int64_t y = 0; y < size.count * size.height; ++y, row += size.width)
      std::reverse(row, row + size.width);
  });
}

void flip_vertical(const Tensor& image) {
  const Frames size = frames_of(image);
  const int64_t row = size.width * item_size(image.dtype());
  auto* frame = static_cast<std::byte*>(image.data());
  for (int64_t i = 0; i < size.count; ++i, frame += size.height * row)
    for (int64_t y = 0; y < size.height / 2; ++y)
      std::swap_ranges(frame + y * row, frame + (y + 1) * row, frame + (size.height - 1 - y) * row);
}

void warp(const Tensor& in, const Tensor& out, const Matrix& to_input, Interpolation interpolation,
          double fill) {
  if (interpolation == Interpolation::nearest)
    by_size(in, [&](auto* type) {
      warp_nearest<std::remove_pointer_t<decltype(type)>>(in, out, to_input, fill);
    });
  else if (in.dtype() == DType::u8)
    BilinearWarp<uint8_t>(in, out, to_input, std::clamp(fill, 0., 255.)).run();
  else
    BilinearWarp<float>(in, out, to_input, fill).run();
}

void resize_bilinear(const Tensor& in, const Tensor& out, const Box& box, bool antialias) {
  if (in.dtype() == DType::u8)
    resize_of<uint8_t>(in, out, box, antialias);
  else
    resize_of<float>(in, out, box, antialias);
}

void resize_nearest(const Tensor& in, const Tensor& out, const Box& box) {
  by_size(in, [&](auto* type) {
    resize_nearest_of<std::remove_pointer_t<decltype(type)>>(in, out, box);
  });
}

}  // namespace aorta::data::image
