#include <aorta/apps/echo/import/sector.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace aorta::echo {
namespace {

constexpr int64_t kLookedAt = 24;  // frames
constexpr int kChange = 10;        // of 255: above the noise of lossy compression, below speckle's
constexpr int kLit = 16;

// The least and the most of each pixel.
struct PixelRange {
  std::vector<uint8_t> low, high;
};

PixelRange range_of(const data::VideoReader& video) {
  const int64_t count = video.frame_count(), seen = std::min(count, kLookedAt);
  const auto pixels = static_cast<size_t>(video.height() * video.width());
  PixelRange range{std::vector<uint8_t>(pixels, 255), std::vector<uint8_t>(pixels, 0)};
  const Tensor frame = empty({1, video.height(), video.width()}, {.dtype = u8});
  for (int64_t i = 0; i < seen; ++i) {
    // Formats that can't be sought are read forward.
    video.read_into(i * count / seen, frame);
    const uint8_t* from = frame.data<uint8_t>();
    for (size_t k = 0; k < pixels; ++k) {
      range.low[k] = std::min(range.low[k], from[k]);
      range.high[k] = std::max(range.high[k], from[k]);
    }
  }
  return range;
}

// 1 where it changes (or is lit, where hardly anything changes), inside of the box.
Tensor active_pixels(const PixelRange& range, int64_t height, int64_t width, const Box& box) {
  const Tensor active = zeros({height, width}, {.dtype = u8});
  uint8_t* out = active.data<uint8_t>();
  const auto mark = [&](const auto& is) {
    int64_t marked = 0;
    for (int64_t y = box.top; y < box.top + box.height; ++y)
      for (int64_t x = box.left; x < box.left + box.width; ++x) {
        const auto k = static_cast<size_t>(y * width + x);
        out[k] = is(k);
        marked += out[k];
      }
    return marked * 100 >= box.width * box.height;
  };
  if (mark([&](size_t k) { return range.high[k] - range.low[k] >= kChange; })) return active;
  if (mark([&](size_t k) { return range.high[k] >= kLit; })) return active;
  return {};
}

// 1 where a third of the pixels around, so many to each side, are: what is thin vanishes.
Tensor dense_pixels(const Tensor& active, int64_t around) {
  const int64_t height = active.size(0), width = active.size(1);
  // Sums above and to the left.
  std::vector<int64_t> sums(static_cast<size_t>((height + 1) * (width + 1)));
  const auto at = [&](int64_t y, int64_t x) -> int64_t& {
    return sums[static_cast<size_t>(y * (width + 1) + x)];
  };
  const uint8_t* in = active.data<uint8_t>();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      at(y + 1, x + 1) = in[y * width + x] + at(y, x + 1) + at(y + 1, x) - at(y, x);
  const Tensor dense = empty({height, width}, {.dtype = u8});
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const int64_t top = std::max<int64_t>(y - around, 0), left = std::max<int64_t>(x - around, 0);
      const int64_t bottom = std::min(y + around + 1, height);
      const int64_t right = std::min(x + around + 1, width);
      const int64_t sum = at(bottom, right) - at(top, right) - at(bottom, left) + at(top, left);
      dense.data<uint8_t>()[y * width + x] = 3 * sum >= (bottom - top) * (right - left);
    }
  return dense;
}

struct Corner {
  int64_t x = 0, y = 0;
};

// Twice the area of a triangle, positive where b turns to the right of a on a screen.
int64_t turn(const Corner& o, const Corner& a, const Corner& b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

// For each row the first and the last column of the convex hull of marked pixels (Andrew's chain,
// down each side).
struct HullSide {
  std::vector<Corner> corners, ends;  // of the hull, and of each row; from above
  void add(const Corner& corner, int64_t sign) {
    ends.push_back(corner);
    while (corners.size() >= 2 &&
           sign * turn(corners[corners.size() - 2], corners.back(), corner) >= 0)
      corners.pop_back();
    corners.push_back(corner);
  }
  double at(int64_t y) const {
    size_t i = 0;
    while (i + 2 < corners.size() && corners[i + 1].y <= y) ++i;
    const Corner &from = corners[i], &to = corners[std::min(i + 1, corners.size() - 1)];
    if (to.y == from.y) return static_cast<double>(from.x);
    const double part = static_cast<double>(y - from.y) / static_cast<double>(to.y - from.y);
    return static_cast<double>(from.x) + part * static_cast<double>(to.x - from.x);
  }
};

// x = at + slope * y, and the number of rows that end on it.
struct StraightSide {
  double at = 0, slope = 0;
  int64_t rows = 0;
};

// The line on which most rows end, among those through two corners of the hull: what is dim at the
// edge leaves a dent or ends on a flatter chord. Beams lie on both sides of the middle one, so no
// line is taken that is steeper than a narrow sector's side. `sign`: -1 to the left, 1 to the
// right.
StraightSide straight_side(const HullSide& side, double sign) {
  constexpr double kSteepest = 0.55;  // columns a row: a sector of 58 degrees
  const int64_t height = side.corners.back().y - side.corners.front().y;
  const double tolerance = std::max(1.0, 0.006 * static_cast<double>(height));
  StraightSide best;
  for (size_t i = 0; i < side.corners.size(); ++i)
    for (size_t j = i + 1; j < side.corners.size(); ++j) {
      const Corner &from = side.corners[i], &to = side.corners[j];
      if (6 * (to.y - from.y) < height) continue;
      const double slope = static_cast<double>(to.x - from.x) / static_cast<double>(to.y - from.y);
      if (sign * slope < kSteepest) continue;
      const double at = static_cast<double>(from.x) - slope * static_cast<double>(from.y);
      const int64_t rows =
          std::count_if(side.ends.begin(), side.ends.end(), [&](const Corner& end) {
            const double x = at + slope * static_cast<double>(end.y);
            return std::abs(static_cast<double>(end.x) - x) <= tolerance;
          });
      if (rows > best.rows) best = {at, slope, rows};
    }
  return best;
}

// Makes the box reach up to where the straight sides meet. What lies there stays black, for text
// may be near.
void reach_for_tip(Sector& sector, const HullSide& left, const HullSide& right) {
  constexpr double kMost = 0.4;    // of the sector's height
  constexpr double kWidest = 3.5;  // of a fan, in columns a row
  const StraightSide a = straight_side(left, -1), b = straight_side(right, 1);
  const double opening = b.slope - a.slope;
  if (a.rows == 0 || b.rows == 0 || opening > kWidest) return;
  const double tip = (a.at - b.at) / opening;
  const int64_t top = sector.box.top;
  if (static_cast<double>(top) - tip > kMost * static_cast<double>(sector.box.height)) return;
  const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(tip)));
  if (first >= top) return;
  sector.box.height += top - first;
  sector.box.top = first;
}

std::optional<Sector> convex_around(const Tensor& marked) {
  const int64_t height = marked.size(0), width = marked.size(1);
  HullSide left, right;
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* row = marked.data<uint8_t>() + y * width;
    const uint8_t* first = std::find(row, row + width, 1);
    if (first == row + width) continue;
    const uint8_t* last = row + width - 1;
    while (*last == 0) --last;
    left.add({first - row, y}, 1);
    right.add({last - row, y}, -1);
  }
  if (left.corners.empty()) return {};
  Sector sector{.mask = zeros({height, width}, {.dtype = u8}), .box = {}};
  const int64_t top = left.corners.front().y, bottom = left.corners.back().y;
  int64_t begin = width, end = 0;
  for (int64_t y = top; y <= bottom; ++y) {
    const auto from = static_cast<int64_t>(std::ceil(left.at(y) - 1e-9));
    const auto to = static_cast<int64_t>(std::floor(right.at(y) + 1e-9));
    uint8_t* row = sector.mask.data<uint8_t>() + y * width;
    if (from <= to) std::fill(row + from, row + to + 1, uint8_t{1});
    begin = std::min(begin, from);
    end = std::max(end, to + 1);
  }
  sector.box = {begin, top, end - begin, bottom - top + 1};
  reach_for_tip(sector, left, right);
  return sector;
}

// The weights of the pixels before, at, and after a place that lies `t` behind the second.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// The four pixels of each result pixel along an axis, and their weights.
struct CubicTaps {
  std::vector<std::array<int64_t, 4>> from;
  std::vector<std::array<double, 4>> weights;
  CubicTaps(int64_t in, int64_t out) {
    for (int64_t i = 0; i < out; ++i) {
      const double place =
          (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
      const double whole = std::floor(place);
      weights.push_back(cubic_weights(place - whole));
      from.emplace_back();
      for (int64_t k = 0; k < 4; ++k)
        from.back()[static_cast<size_t>(k)] =
            std::clamp<int64_t>(static_cast<int64_t>(whole) - 1 + k, 0, in - 1);
    }
  }
};

}  // namespace

std::optional<Sector> find_sector(const data::VideoReader& video,
                                  const std::optional<Box>& within) {
  check(video.channels() == 1, video.path(), "a sector is looked for in grey frames",
        video.channels());
  const int64_t height = video.height(), width = video.width();
  const Box box = within.value_or(Box{0, 0, width, height});
  const Tensor active = active_pixels(range_of(video), height, width, box);
  if (!active.defined()) return {};
  const int64_t around = std::max<int64_t>(1, std::min(height, width) / 80);
  const Tensor part = clean_mask(dense_pixels(active, around));
  // The density blurs edges, which are where the pixels themselves end.
  for (int64_t i = 0; i < active.numel(); ++i) active.data<uint8_t>()[i] &= part.data<uint8_t>()[i];
  return convex_around(active);
}

Tensor cubic_resized(const Tensor& picture, int64_t height, int64_t width) {
  check(picture.dtype() == u8 && picture.dim() == 3 && height > 0 && width > 0, "cubic_resized",
        "a picture must be u8 (C, H, W), and have a size", picture.dtype(), " ", picture.shape(),
        " to ", height, " x ", width);
  const Tensor in = picture.contiguous();
  const int64_t in_height = in.size(1), in_width = in.size(2);
  const CubicTaps down(in_height, height), across(in_width, width);
  const Tensor out = empty({in.size(0), height, width}, {.dtype = u8});
  std::vector<double> row(static_cast<size_t>(in_width));
  for (int64_t c = 0; c < in.size(0); ++c)
    for (int64_t y = 0; y < height; ++y) {
      std::fill(row.begin(), row.end(), 0.);
      for (size_t k = 0; k < 4; ++k) {
        const auto i = static_cast<size_t>(y);
        const uint8_t* from = in.data<uint8_t>() + (c * in_height + down.from[i][k]) * in_width;
        for (size_t x = 0; x < row.size(); ++x) row[x] += down.weights[i][k] * from[x];
      }
      uint8_t* to = out.data<uint8_t>() + (c * height + y) * width;
      for (int64_t x = 0; x < width; ++x) {
        double sum = 0;
        for (size_t k = 0; k < 4; ++k) {
          const auto i = static_cast<size_t>(x);
          sum += across.weights[i][k] * row[static_cast<size_t>(across.from[i][k])];
        }
        to[x] = static_cast<uint8_t>(std::lround(std::clamp(sum, 0., 255.)));
      }
    }
  return out;
}

}  // namespace aorta::echo
