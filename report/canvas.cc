#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/resource_error.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <string>

#include <aorta/report/canvas.h>

// Every outline is drawn by OpenCV four times as large, black and white, into a mask of its own;
// shrunk, that is how much of each pixel it covers.

namespace aorta::report {
namespace {

constexpr int kFine = 4;   // mask pixels in a pixel, each way
constexpr int kShift = 4;  // OpenCV's coordinates have so many bits after the point
constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kCapital = 21;    // height of the font's capitals at scale 1
constexpr double kStroke = 0.085;  // thickness of letters, in parts of their size
constexpr double kLargestRadius = 8192;

// OpenCV's own words for want of memory are no message.
template <class Call>
void call_opencv(int width, int height, const Call& call) {
  try {
    call();
  } catch (const cv::Exception& error) {
    if (error.code != cv::Error::StsNoMem) throw;
    fail_for_resources("canvas", "there must be memory to draw in (ulimit -v and -d limit it)",
                       fmt::format("too little for {} x {} pixels", width, height));
  }
}

struct Segment {
  double x0, y0, x1, y1;
};

// The part of a line inside [left, right] x [top, bottom] (Liang and Barsky 1984); false for none.
bool clip(Segment& s, double left, double top, double right, double bottom) {
  if (!std::isfinite(s.x0 + s.y0 + s.x1 + s.y1)) return false;
  const double dx = s.x1 - s.x0, dy = s.y1 - s.y0;
  double from = 0, to = 1;
  const double sides[4][2] = {
      {-dx, s.x0 - left}, {dx, right - s.x0}, {-dy, s.y0 - top}, {dy, bottom - s.y0}};
  for (const auto& [slope, room] : sides) {
    if (slope == 0) {
      if (room < 0) return false;
      continue;
    }
    const double at = room / slope;
    if (slope < 0)
      from = std::max(from, at);
    else
      to = std::min(to, at);
  }
  if (!(from <= to)) return false;
  s = {s.x0 + from * dx, s.y0 + from * dy, s.x0 + to * dx, s.y0 + to * dy};
  return true;
}

// UTF-8 with the letters that the font has.
std::string drawable(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kLike[] = {
      {"−", "-"}, {"–", "-"}, {"—", "-"},   {"±", "+-"}, {"×", "x"},    {"·", "."}, {"²", "2"},
      {"³", "3"}, {"’", "'"}, {"…", "..."}, {"→", "->"}, {"°", " deg"}, {"µ", "u"}, {"μ", "u"}};
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      out += c < 0x20 || c == 0x7f ? ' ' : text[i];
      ++i;
      continue;
    }
    const size_t size = std::max<size_t>(utf8_length(text.substr(i)), 1);
    const auto* like = std::find_if(std::begin(kLike), std::end(kLike), [&](const auto& each) {
      return each.first == text.substr(i, size);
    });
    out += like == std::end(kLike) ? "?" : like->second;
    i += size;
  }
  return out;
}

// The font at `size_px`, in mask pixels.
struct Letters {
  double scale;
  int thickness;
  explicit Letters(double size_px)
      : scale((0.7 - kStroke) * size_px * kFine / kCapital),  // strokes reach out by half theirs
        thickness(std::max(1, static_cast<int>(std::lround(kStroke * size_px * kFine)))) {}
};

bool readable(double size_px) { return size_px >= 1 && size_px <= 1000; }

}  // namespace

// Pixels [x0, x1) x [y0, y1) of the canvas.
struct Canvas::Box {
  int x0, y0, x1, y1;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
  // A canvas' coordinates as the mask's.
  double x(double at) const { return (at - x0) * kFine; }
  double y(double at) const { return (at - y0) * kFine; }
  // Places a point for OpenCV, whose pixels' centres are at whole numbers.
  cv::Point point(double at_x, double at_y) const {
    return {static_cast<int>(std::lround((x(at_x) - 0.5) * (1 << kShift))),
            static_cast<int>(std::lround((y(at_y) - 0.5) * (1 << kShift)))};
  }
};

Canvas::Canvas(int width, int height, Colour background) : width_(width), height_(height) {
  check(width >= 1 && width <= 32767 && height >= 1 && height <= 32767, "canvas",
        "size must be 1 to 32767 pixels each way", width, " x ", height);
  pixels_ = empty({height, width, 3}, {.dtype = u8});
  uint8_t* const pixels = pixels_.data<uint8_t>();
  for (int64_t i = 0; i < pixels_.numel(); i += 3) {
    pixels[i] = background.r;
    pixels[i + 1] = background.g;
    pixels[i + 2] = background.b;
  }
}

Canvas::Canvas(const Canvas& other)
    : width_(other.width_), height_(other.height_), pixels_(other.pixels_.clone()) {}

Canvas::Box Canvas::box(double left, double top, double right, double bottom) const {
  if (!std::isfinite(left + top + right + bottom)) return {0, 0, 0, 0};
  const auto within = [](double value, int end) {
    return static_cast<int>(std::clamp(value, 0., static_cast<double>(end)));
  };
  return {within(std::floor(left), width_), within(std::floor(top), height_),
          within(std::ceil(right), width_), within(std::ceil(bottom), height_)};
}

template <class Draw>
void Canvas::paint(const Box& box, Colour colour, const Draw& draw) {
  if (box.empty()) return;
  const int width = box.x1 - box.x0, height = box.y1 - box.y0;
  // In bands, so that a large one takes little memory.
  const int rows = std::max(1, std::min(height, (1 << 20) / (width * kFine * kFine)));
  uint8_t* const pixels = pixels_.data<uint8_t>();
  cv::Mat mask;
  call_opencv(width, rows, [&] { mask.create(rows * kFine, width * kFine, CV_8UC1); });
  for (int top = box.y0; top < box.y1; top += rows) {
    const Box band{box.x0, top, box.x1, std::min(top + rows, box.y1)};
    mask.setTo(0);
    call_opencv(width, rows, [&] { draw(mask, band); });
    for (int y = band.y0; y < band.y1; ++y) {
      uint8_t* pixel = pixels + (int64_t{y} * width_ + band.x0) * 3;
      for (int x = 0; x < width; ++x, pixel += 3) {
        int covered = 0;
        for (int row = 0; row < kFine; ++row) {
          const uint8_t* fine = mask.ptr<uint8_t>((y - band.y0) * kFine + row) + x * kFine;
          for (int column = 0; column < kFine; ++column) covered += fine[column];
        }
        if (covered == 0) continue;
        constexpr int kAll = 255 * kFine * kFine;
        const int new_colour[3] = {colour.r, colour.g, colour.b};
        for (int c = 0; c < 3; ++c)
          pixel[c] = static_cast<uint8_t>(
              (pixel[c] * (kAll - covered) + new_colour[c] * covered + kAll / 2) / kAll);
      }
    }
  }
}

void Canvas::picture(const Tensor& image, int x, int y, int width, int height) {
  check_defined("canvas", {{"picture", image}});
  const bool grey = image.dim() == 2;
  check(image.dtype() == u8 &&
            (grey || (image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3))) &&
            image.numel() > 0,
        "canvas", "picture must be u8 (1|3, h, w)", image.dtype(), " ", image.shape());
  const Tensor planes = grey ? image.unsqueeze(0) : image;
  const Tensor flat = planes.permute({1, 2, 0}).contiguous();  // (h, w, C)
  const int64_t h = flat.size(0), w = flat.size(1);
  check(h <= 32767 && w <= 32767 && width >= 0 && width <= 32767 && height >= 0 && height <= 32767,
        "canvas", "picture's size must be 0 to 32767 pixels each way", w, " x ", h, " as ", width,
        " x ", height);
  const auto shaped = [](int64_t given, int64_t of, int64_t other) {
    return static_cast<int>(std::clamp<int64_t>((other * given + of / 2) / of, 1, 32767));
  };
  if (width == 0) width = height == 0 ? static_cast<int>(w) : shaped(height, h, w);
  if (height == 0) height = shaped(width, w, h);
  const int channels = static_cast<int>(flat.size(2));
  cv::Mat source(static_cast<int>(h), static_cast<int>(w), CV_MAKETYPE(CV_8U, channels),
                 flat.data());
  const bool whole = width % w == 0 && height % h == 0;
  cv::Mat sized = source;
  if (width != w || height != h)
    call_opencv(width, height, [&] {
      cv::resize(source, sized, cv::Size(width, height), 0, 0,
                 whole                     ? cv::INTER_NEAREST
                 : width < w && height < h ? cv::INTER_AREA
                                           : cv::INTER_LINEAR);
    });
  const int64_t left = std::max<int64_t>(0, -int64_t{x}), top = std::max<int64_t>(0, -int64_t{y});
  const int64_t right = std::min<int64_t>(width, int64_t{width_} - x);
  const int64_t bottom = std::min<int64_t>(height, int64_t{height_} - y);
  if (right <= left) return;
  uint8_t* const pixels = pixels_.data<uint8_t>();
  for (int64_t row = top; row < bottom; ++row) {
    const uint8_t* const from = sized.ptr<uint8_t>(static_cast<int>(row)) + left * channels;
    uint8_t* const to = pixels + ((y + row) * width_ + x + left) * 3;
    if (channels == 3) {
      std::copy_n(from, 3 * (right - left), to);
      continue;
    }
    for (int64_t i = 0; i < right - left; ++i) std::fill_n(to + 3 * i, 3, from[i]);
  }
}

void Canvas::line(double x0, double y0, double x1, double y1, Colour colour, double width) {
  const std::pair<double, double> points[] = {{x0, y0}, {x1, y1}};
  polyline(points, colour, width);
}

void Canvas::polyline(std::span<const std::pair<double, double>> points, Colour colour,
                      double width) {
  if (!(width > 0) || width > 1000) return;
  const double far = width / 2 + 1;
  std::vector<Segment> segments;
  double left = width_, top = height_, right = 0, bottom = 0;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    Segment s{points[i].first, points[i].second, points[i + 1].first, points[i + 1].second};
    if (!clip(s, -far, -far, width_ + far, height_ + far)) continue;
    segments.push_back(s);
    left = std::min({left, s.x0, s.x1}), right = std::max({right, s.x0, s.x1});
    top = std::min({top, s.y0, s.y1}), bottom = std::max({bottom, s.y0, s.y1});
  }
  const int thickness = std::max(1, static_cast<int>(std::lround(width * kFine)));
  paint(box(left - far, top - far, right + far, bottom + far), colour,
        [&](cv::Mat& mask, const Box& band) {
          for (const Segment& s : segments)
            cv::line(mask, band.point(s.x0, s.y0), band.point(s.x1, s.y1), 255, thickness,
                     cv::LINE_8, kShift);
        });
}

void Canvas::rectangle(double x, double y, double width, double height, Colour colour,
                       bool filled) {
  if (!std::isfinite(x + y + width + height) || width <= 0 || height <= 0) return;
  if (!filled) {
    const double w = std::min(1., width), h = std::min(1., height);
    rectangle(x, y, width, h, colour);
    rectangle(x, y + height - h, width, h, colour);
    rectangle(x, y + h, w, height - 2 * h, colour);
    rectangle(x + width - w, y + h, w, height - 2 * h, colour);
    return;
  }
  paint(box(x, y, x + width, y + height), colour, [&](cv::Mat& mask, const Box& band) {
    const auto within = [](double at, int end) {
      return static_cast<int>(std::clamp(std::round(at), 0., static_cast<double>(end)));
    };
    const int left = within(band.x(x), mask.cols), right = within(band.x(x + width), mask.cols);
    const int top = within(band.y(y), mask.rows), bottom = within(band.y(y + height), mask.rows);
    if (left < right && top < bottom) mask(cv::Range(top, bottom), cv::Range(left, right)) = 255;
  });
}

void Canvas::circle(double x, double y, double radius, Colour colour, bool filled) {
  if (!(radius > 0) || radius > kLargestRadius) return;
  const double far = radius + 2;
  // One whose square doesn't meet the picture would overflow OpenCV's coordinates.
  const Box all = box(x - far, y - far, x + far, y + far);
  const int thickness = filled ? cv::FILLED : kFine * 3 / 2;
  paint(all, colour, [&](cv::Mat& mask, const Box& band) {
    cv::circle(mask, band.point(x, y),
               static_cast<int>(std::lround(radius * kFine * (1 << kShift))), 255, thickness,
               cv::LINE_8, kShift);
  });
}

void Canvas::text(std::string_view text, double x, double y, double size_px, Colour colour,
                  Anchor anchor) {
  if (!readable(size_px) || !std::isfinite(x + y)) return;
  const std::string letters = drawable(text);
  const Letters font(size_px);
  const double width = text_width(text, size_px);
  if (anchor == Anchor::middle) x -= width / 2;
  if (anchor == Anchor::right) x -= width;
  // A coordinate so far away shows nothing, and would overflow OpenCV's.
  if (std::abs(x) > 1e6 || std::abs(y) > 1e6) return;
  const double margin = kStroke * size_px + 1;
  paint(box(x - margin, y - size_px, x + width + margin, y + size_px * 0.4), colour,
        [&](cv::Mat& mask, const Box& band) {
          const cv::Point origin(static_cast<int>(std::lround(band.x(x))),
                                 static_cast<int>(std::lround(band.y(y))) - font.thickness / 2);
          cv::putText(mask, letters, origin, kFont, font.scale, 255, font.thickness, cv::LINE_8);
        });
}

double Canvas::text_width(std::string_view text, double size_px) {
  if (!readable(size_px)) return 0;
  const Letters font(size_px);
  const std::string letters = drawable(text);
  if (letters.empty()) return 0;
  return cv::getTextSize(letters, kFont, font.scale, font.thickness, nullptr).width /
         static_cast<double>(kFine);
}

Tensor Canvas::image() const& { return pixels_.clone().permute({2, 0, 1}); }
Tensor Canvas::image() && { return pixels_.permute({2, 0, 1}); }

}  // namespace aorta::report
