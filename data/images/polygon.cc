#include <aorta/core/check.h>
#include <aorta/data/images/polygon.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace aorta::data {
namespace {

constexpr int64_t kLargest = int64_t{1} << 29;  // products of differences fit in 63 bits

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// O'Rourke's test (Computational Geometry in C, 1998, section 7.4): a point is inside when a ray to
// the right crosses the edges an odd number of times, and on an edge when rays to the right and to
// the left don't agree. An edge is crossed at the right when one end alone lies below the row, at
// the left when one end alone lies above it. Coordinates are integers, so that nothing is rounded:
// a crossing at c counts for x < c or x > c.
//
// `right` and `left` have a place a pixel and one more: a 1 where the parity of the crossings at
// that side changes, on the way from x - 1 to x.
void add_edge(const Point& from, const Point& to, int64_t height, int64_t width, uint8_t* right,
              uint8_t* left) {
  const int64_t dy = int64_t{to.y} - from.y;
  if (dy == 0) return;
  const int64_t dx = int64_t{to.x} - from.x;
  const int64_t top = std::min(from.y, to.y), bottom = std::max(from.y, to.y);
  for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) {
    // The crossing is at from.x + (y - from.y) * dx / dy.
    const int64_t moved = (y - from.y) * dx;
    const int64_t down = floor_divide(moved, dy);
    const int64_t up = down * dy == moved ? down : down + 1;
    // A crossing at the right counts up to the last x below it, one at the left from the first x
    // above it on.
    if (y < bottom) right[y * (width + 1) + std::clamp<int64_t>(from.x + up, 0, width)] ^= 1;
    if (y > top) left[y * (width + 1) + std::clamp<int64_t>(from.x + down + 1, 0, width)] ^= 1;
  }
}

}  // namespace

void fill_polygon(uint8_t* mask, int64_t height, int64_t width, std::span<const Point> points,
                  uint8_t value) {
  if (points.empty() || width == 0) return;
  int64_t top = points[0].y, bottom = points[0].y, first = points[0].x, last = points[0].x;
  for (const Point& point : points) {
    check(std::abs(int64_t{point.x}) <= kLargest && std::abs(int64_t{point.y}) <= kLargest,
          "fill_polygon", "corners must lie within 2^29 of 0", "(", point.x, ", ", point.y, ")");
    top = std::min<int64_t>(top, point.y);
    bottom = std::max<int64_t>(bottom, point.y);
    first = std::min<int64_t>(first, point.x);
    last = std::max<int64_t>(last, point.x);
  }
  top = std::max<int64_t>(top, 0);
  bottom = std::min(bottom, height - 1);
  first = std::max<int64_t>(first, 0);
  last = std::min(last, width - 1);
  if (top > bottom || first > last) return;
  const int64_t stride = width + 1, rows = bottom - top + 1;
  static thread_local std::vector<uint8_t> changes;
  changes.assign(static_cast<size_t>(2 * rows * stride), 0);
  // From the polygon's first row on.
  uint8_t* right = changes.data();
  uint8_t* left = right + rows * stride;
  const auto moved = [&](const Point& point) {
    return Point{point.x, static_cast<int32_t>(point.y - top)};
  };
  for (size_t i = 0; i < points.size(); ++i)
    add_edge(moved(points[i == 0 ? points.size() - 1 : i - 1]), moved(points[i]), rows, width,
             right, left);
  for (int64_t y = 0; y < rows; ++y, right += stride, left += stride) {
    uint8_t* out = mask + (top + y) * width;
    // Left of the polygon all of a row's crossings, an even number, are at the right.
    uint8_t at_right = 0, at_left = 0;
    for (int64_t x = first; x <= last; ++x) {
      at_right ^= right[x];
      at_left ^= left[x];
      if (at_right | at_left) out[x] = value;
    }
  }
  for (const Point& point : points)
    if (point.y >= top && point.y <= bottom && point.x >= 0 && point.x < width)
      mask[int64_t{point.y} * width + point.x] = value;
}

void fill_polygon(const Tensor& mask, std::span<const Point> points, uint8_t value) {
  check_defined("fill_polygon", {{"mask", mask}});
  check(mask.dtype() == u8 && mask.device() == Device() && mask.dim() == 2 && mask.is_contiguous(),
        "fill_polygon", "mask must be u8 (H, W), row-major on the CPU", mask.dtype(), " ",
        mask.shape(), " on ", mask.device());
  fill_polygon(mask.data<uint8_t>(), mask.size(0), mask.size(1), points, value);
  mask.bump_version();
}

int32_t round_coordinate(double value) {
  check(std::abs(value) <= static_cast<double>(kLargest), "polygon",
        "coordinates must lie within 2^29 of 0", value);
  return static_cast<int32_t>(std::nearbyint(value));
}

double polygon_area(std::span<const Point> points) {
  double twice = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& a = points[i == 0 ? points.size() - 1 : i - 1];
    const Point& b = points[i];
    twice += static_cast<double>(a.x) * b.y - static_cast<double>(b.x) * a.y;
  }
  return std::abs(twice) / 2;
}

}  // namespace aorta::data
