#include <aorta/core/ops/creation.h>
#include <aorta/data/images/image_kernels.h>

#include <algorithm>
#include <bit>
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
    case 8:
      return f(static_cast<uint64_t*>(nullptr));
    default:
      detail::refuse_complex(image.dtype());
  }
}

// `value` as an element of the dtype, in the low bytes.
uint64_t element_bits(DType dtype, double value) {
  if (is_complex(dtype)) detail::refuse_complex(dtype);
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
  const bool fills = window.mode == PaddingMode::constant;
  const T fill = fills ? static_cast<T>(element_bits(in.dtype(), window.fill)) : T();
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

// From 0 to 255, half to even: where a float's last bit is worth 1.
uint8_t rounded(float value, uint8_t) {
  return static_cast<uint8_t>(std::bit_cast<uint32_t>(value + 0x1p23f));
}
float rounded(float value, float) { return value; }

// Where the pixels of a row of the result come from.
struct PixelSource {
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
      const PixelSource& place = places_[static_cast<size_t>(x)];
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
  std::vector<PixelSource> places_;
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

template <class T>
void reverse(T* first, T* last) {
  std::reverse(first, last);
}
// Eight from each end at a time.
void reverse(uint8_t* first, uint8_t* last) {
  for (; last - first >= 16; first += 8, last -= 8) {
    uint64_t front, back;
    std::memcpy(&front, first, 8);
    std::memcpy(&back, last - 8, 8);
    front = __builtin_bswap64(front);
    back = __builtin_bswap64(back);
    std::memcpy(first, &back, 8);
    std::memcpy(last - 8, &front, 8);
  }
  std::reverse(first, last);
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
      reverse(row, row + size.width);
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
    BilinearWarp<uint8_t>(in, out, to_input, fill).run();
  else
    BilinearWarp<float>(in, out, to_input, fill).run();
}

void resize_nearest(const Tensor& in, const Tensor& out, const Box& box) {
  by_size(in, [&](auto* type) {
    resize_nearest_of<std::remove_pointer_t<decltype(type)>>(in, out, box);
  });
}

}  // namespace aorta::data::image
