#include <aorta/apps/echo/measure/volume.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace aorta::echo {
namespace {

// Gives every pixel that is joined to `start` by pixels of the same value `from` the value `to`;
// how many there are.
int64_t flood(std::vector<uint8_t>& pixels, int64_t height, int64_t width, int64_t start,
              uint8_t from, uint8_t to) {
  std::vector<int64_t> open;
  int64_t count = 0;
  const auto visit = [&](int64_t place) {
    uint8_t& pixel = pixels[static_cast<size_t>(place)];
    if (pixel != from) return;
    pixel = to;
    ++count;
    open.push_back(place);
  };
  visit(start);
  while (!open.empty()) {
    const int64_t place = open.back(), x = place % width, y = place / width;
    open.pop_back();
    if (x > 0) visit(place - 1);
    if (x + 1 < width) visit(place + 1);
    if (y > 0) visit(place - width);
    if (y + 1 < height) visit(place + width);
  }
  return count;
}

struct Moments {
  double count = 0, x = 0, y = 0;                                     // the centre
  double xx = 0, xy = 0, yy = 0;                                      // about it
  double angle() const { return 0.5 * std::atan2(2 * xy, xx - yy); }  // of the principal axis
};

Moments moments_of(const uint8_t* mask, int64_t height, int64_t width) {
  Moments m;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      if (!mask[y * width + x]) continue;
      m.count += 1;
      m.x += static_cast<double>(x);
      m.y += static_cast<double>(y);
    }
  if (m.count == 0) return m;
  m.x /= m.count;
  m.y /= m.count;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      if (!mask[y * width + x]) continue;
      const double dx = static_cast<double>(x) - m.x, dy = static_cast<double>(y) - m.y;
      m.xx += dx * dx;
      m.xy += dx * dy;
      m.yy += dy * dy;
    }
  return m;
}

// How much of a pixel's square lies below `s` along an axis, s from its middle: the integral of the
// trapezoid that is the square's shadow. `steep` and `flat` are the axis's larger and smaller
// component.
double share_below(double s, double steep, double flat) {
  const double half = (steep + flat) / 2, top = (steep - flat) / 2;
  if (s <= -half) return 0;
  if (s >= half) return 1;
  if (s < -top) return (s + half) * (s + half) / (2 * steep * flat);
  if (s > top) return 1 - (half - s) * (half - s) / (2 * steep * flat);
  return 0.5 + s / steep;
}

// [low, high] of a line of pixels through the centre; the direction has length 1.
struct Axis {
  PointXY centre, direction;
  double low = 0, high = 0;
  double at(int64_t x, int64_t y) const {
    return (static_cast<double>(x) - centre.x) * direction.x +
           (static_cast<double>(y) - centre.y) * direction.y;
  }
  PointXY point(double t) const { return {centre.x + t * direction.x, centre.y + t * direction.y}; }
};

// The areas of the slices along the axis; what sticks out counts to the outer ones.
std::array<double, kDisks> slice_areas(const uint8_t* mask, int64_t height, int64_t width,
                                       const Axis& axis) {
  std::array<double, kDisks> areas{};
  const double low = axis.low, step = (axis.high - low) / kDisks;
  const double steep = std::max(std::abs(axis.direction.x), std::abs(axis.direction.y));
  const double flat = std::min(std::abs(axis.direction.x), std::abs(axis.direction.y));
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      if (!mask[y * width + x]) continue;
      const double t = axis.at(x, y);
      const auto slice = [&](double at) {
        return std::clamp(static_cast<int>(std::floor((at - low) / step)), 0, kDisks - 1);
      };
      const int last = slice(t + (steep + flat) / 2);
      double before = 0;
      for (int i = slice(t - (steep + flat) / 2); i <= last; ++i) {
        const double share = i == last ? 1 : share_below(low + (i + 1) * step - t, steep, flat);
        areas[static_cast<size_t>(i)] += share - before;
        before = share;
      }
    }
  return areas;
}

}  // namespace

Tensor clean_mask(const Tensor& mask) {
  check(mask.dtype() == u8 && mask.dim() == 2, "clean_mask", "mask must be u8 (H, W)", mask.dtype(),
        " ", mask.shape());
  const Tensor source = mask.cpu().contiguous();
  const int64_t height = mask.size(0), width = mask.size(1), size = mask.numel();
  std::vector<uint8_t> pixels(static_cast<size_t>(size));
  std::transform(source.data<uint8_t>(), source.data<uint8_t>() + size, pixels.begin(),
                 [](uint8_t value) { return value != 0; });
  // 1: not seen yet; 2: seen; 3: outside.
  int64_t largest = 0, start = -1;
  for (int64_t i = 0; i < size; ++i) {
    if (pixels[static_cast<size_t>(i)] != 1) continue;
    const int64_t count = flood(pixels, height, width, i, 1, 2);
    if (count > largest) {
      largest = count;
      start = i;
    }
  }
  Tensor result = zeros(mask.shape(), {.dtype = u8});
  if (start < 0) return result;
  flood(pixels, height, width, start, 2, 1);
  for (uint8_t& pixel : pixels) pixel = pixel == 1;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t x = i % width, y = i / width;
    const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    if (border && pixels[static_cast<size_t>(i)] == 0) flood(pixels, height, width, i, 0, 3);
  }
  for (int64_t i = 0; i < size; ++i)
    result.data<uint8_t>()[i] = pixels[static_cast<size_t>(i)] != 3;
  return result;
}

Disks measure_disks(const Tensor& mask, double border) {
  const Tensor cleaned = clean_mask(mask);
  const int64_t height = mask.size(0), width = mask.size(1);
  const uint8_t* pixels = cleaned.data<uint8_t>();
  const Moments m = moments_of(pixels, height, width);
  Disks disks;
  if (m.count == 0) return disks;
  Axis axis{{m.x, m.y}, {std::cos(m.angle()), std::sin(m.angle())}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      if (!pixels[y * width + x]) continue;
      const double t = axis.at(x, y);
      axis.low = std::min(axis.low, t);
      axis.high = std::max(axis.high, t);
    }
  // Pixels reach half a pixel beyond their middles.
  axis.low -= 0.5;
  axis.high += 0.5;
  disks.length = axis.high - axis.low;
  disks.area = m.count;
  disks.widths = slice_areas(pixels, height, width, axis);
  const double slice = disks.length / kDisks;
  disks.length = std::max(disks.length - 2 * border, 0.);
  const double step = disks.length / kDisks;
  for (double& value : disks.widths) {
    value = std::max(value / slice - 2 * border, 0.);
    disks.volume += std::numbers::pi / 4 * value * value * step;
  }
  disks.apex = axis.point(axis.low);
  disks.base = axis.point(axis.high);
  double first = 0, second = 0;  // halves
  for (size_t i = 0; i < kDisks; ++i) (i < kDisks / 2 ? first : second) += disks.widths[i];
  if (first > second) {
    std::swap(disks.apex, disks.base);
    std::reverse(disks.widths.begin(), disks.widths.end());
  }
  return disks;
}

double Chord::length() const { return std::hypot(x2 - x1, y2 - y1); }

double traced_volume(std::span<const Chord> rows) {
  check(rows.size() >= 2, "traced_volume", "a tracing must have its long axis and a chord at least",
        rows.size(), " rows");
  double squares = 0;
  for (const Chord& chord : rows.subspan(1)) squares += chord.length() * chord.length();
  return std::numbers::pi / 4 * squares * rows[0].length() / static_cast<double>(rows.size() - 1);
}

double ejection_fraction(double end_diastolic_volume, double end_systolic_volume) {
  if (!(end_diastolic_volume > 0)) return std::numeric_limits<double>::quiet_NaN();
  return 100 * (end_diastolic_volume - end_systolic_volume) / end_diastolic_volume;
}

}  // namespace aorta::echo
