#include <aorta/core/check.h>
#include <aorta/data/polygon.h>

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
struct Row {
  std::vector<uint8_t> right;  // right[x]: how many more crossings at the right x - 1 has than x
  std::vector<uint8_t> left;   // left[x]: how many more crossings at the left x has than x - 1
};

void add_edge(const Point& from, const Point& to, int64_t y, int64_t width, Row& row) {
  const int64_t dy = int64_t{to.y} - from.y;
  if (dy == 0) return;
  const bool right = (to.y > y) != (from.y > y);
  const bool left = (to.y < y) != (from.y < y);
  if (!right && !left) return;
  // The crossing is at from.x + (y - from.y) * dx / dy.
  const int64_t moved = (y - from.y) * (int64_t{to.x} - from.x);
  const int64_t below = from.x + floor_divide(moved, dy);   // the crossing rounded down
  const int64_t above = from.x - floor_divide(-moved, dy);  // and up
  if (right) row.right[static_cast<size_t>(std::clamp<int64_t>(above, 0, width))] ^= 1;
  if (left) row.left[static_cast<size_t>(std::clamp<int64_t>(below + 1, 0, width))] ^= 1;
}

}  // namespace

void fill_polygon(uint8_t* mask, int64_t height, int64_t width, std::span<const Point> points,
                  uint8_t value) {
  if (points.empty() || width == 0) return;
  int64_t top = points[0].y, bottom = points[0].y;
  for (const Point& point : points) {
    check(std::abs(int64_t{point.x}) <= kLargest && std::abs(int64_t{point.y}) <= kLargest,
          "fill_polygon", "corners must lie within 2^29 of 0", "(", point.x, ", ", point.y, ")");
    top = std::min<int64_t>(top, point.y);
    bottom = std::max<int64_t>(bottom, point.y);
  }
  const auto size = static_cast<size_t>(width) + 1;
  static thread_local Row row;
  for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) {
    row.right.assign(size, 0);
    row.left.assign(size, 0);
    for (size_t i = 0; i < points.size(); ++i)
      add_edge(points[i == 0 ? points.size() - 1 : i - 1], points[i], y, width, row);
    // Every row is crossed an even number of times, so the parity at the far left is that of all.
    uint8_t right = 0, left = 0;
    for (size_t x = size; x-- > 1;) right ^= row.right[x];
    uint8_t* out = mask + y * width;
    for (size_t x = 0; x < size - 1; ++x) {
      left ^= row.left[x];
      if (x > 0) right ^= row.right[x];
      if (left | right) out[x] = value;
    }
    for (const Point& point : points)
      if (point.y == y && point.x >= 0 && point.x < width) out[point.x] = value;
  }
}

void fill_polygon(const Tensor& mask, std::span<const Point> points, uint8_t value) {
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
