#pragma once

#include <aorta/core/tensor.h>

#include <cstdint>
#include <span>

namespace aorta::data {

/// A corner of a polygon, in pixels: (0, 0) is the middle of the upper left pixel.
struct Point {
  int32_t x = 0;
  int32_t y = 0;
  bool operator==(const Point&) const = default;
};

/// Sets the pixels of a polygon in `mask`, u8 (H, W) row-major on the CPU, to `value` and leaves
/// the others. The pixels are those that scikit-image's `draw.polygon` gives for these corners:
/// inside by the even-odd rule, or on an edge. What lies outside the mask is cut off; the last
/// corner is joined to the first; corners lie within 2^29 of 0.
void fill_polygon(const Tensor& mask, std::span<const Point> points, uint8_t value = 1);
/// Fills a polygon in the caller's memory, (height, width) without gaps.
void fill_polygon(uint8_t* mask, int64_t height, int64_t width, std::span<const Point> points,
                  uint8_t value = 1);

/// A coordinate rounded to a pixel as numpy's rint does it, halves to the even one; throws unless
/// it lies within 2^29 of 0.
int32_t round_coordinate(double value);
/// The area inside the polygon's outline, in pixels.
double polygon_area(std::span<const Point> points);

}  // namespace aorta::data
