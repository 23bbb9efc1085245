#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/overlay.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/data/images/image_place.h>
#include <aorta/data/images/transforms.h>
#include <aorta/report/axis.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <future>

namespace aorta::echo {
namespace {

using report::Anchor;
using report::Colour;

constexpr Colour kBackground{17, 19, 24}, kPanel{28, 31, 38}, kText{226, 230, 236},
    kQuiet{139, 146, 158}, kGrid{48, 53, 62};
constexpr Colour kDiastole{74, 222, 128}, kSystole{251, 146, 60}, kCursor{255, 255, 255};
constexpr int kMargin = 16, kGap = 12, kHeader = 34, kCurve = 150, kFooter = 46;
constexpr int kAxis = 52;  // room for the curve's numbers

// Small pictures are enlarged by a whole number, so that pixels stay alike; large ones shrunk.
double display_scale(int64_t height, int64_t width) {
  constexpr double kWanted = 336, kMost = 640;
  const auto longer = static_cast<double>(std::max(height, width));
  if (longer > kMost) return kMost / longer;
  return std::max(1., std::round(kWanted / longer));
}

int even(double length) { return std::max(2, 2 * static_cast<int>(std::lround(length / 2))); }

int panel_size(int64_t length, double scale) { return even(static_cast<double>(length) * scale); }

// Narrow videos leave room for the words and the curve.
int canvas_width(const VideoSegmentation& s) {
  constexpr int kLeast = 560;
  const int panels = 2 * panel_size(s.width, display_scale(s.height, s.width));
  return std::max(kLeast, 2 * kMargin + kGap + panels);
}

int canvas_height(const VideoSegmentation& s) {
  return kHeader + panel_size(s.height, display_scale(s.height, s.width)) + kGap + kCurve + kFooter;
}

// The text, or its beginning and "...", in so many pixels.
std::string fitted(std::string text, double size, double width) {
  if (report::Canvas::text_width(text, size) <= width) return text;
  while (!text.empty() && report::Canvas::text_width(text + "...", size) > width) text.pop_back();
  return text + "...";
}

uint8_t mixed(uint8_t from, uint8_t to, double part) {
  return static_cast<uint8_t>(std::lround(from + (to - from) * part));
}

}  // namespace

Tensor tinted(const Tensor& frame, const Tensor& mask, Colour colour, double strength) {
  check(frame.dtype() == u8 && frame.dim() == 3 && frame.size(0) == 3 && mask.dtype() == u8 &&
            mask.shape() == Shape({frame.size(1), frame.size(2)}),
        "tinted", "frame and mask must be u8 (3, H, W) and (H, W)", frame.dtype(), " ",
        frame.shape(), " and ", mask.dtype(), " ", mask.shape());
  Tensor result = frame.clone();
  const Tensor inside = mask.contiguous();
  const int64_t height = mask.size(0), width = mask.size(1);
  const uint8_t* const in = inside.data<uint8_t>();
  const data::ImagePlace place = data::image_place("tinted", result);
  const uint8_t to[] = {colour.r, colour.g, colour.b};
  std::array<std::array<uint8_t, 256>, 3> within;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t from = 0; from < 256; ++from)
      within[c][from] = mixed(static_cast<uint8_t>(from), to[c], strength);
  }
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const int64_t at = y * width + x;
      if (!in[at]) continue;
      const bool edge = y == 0 || x == 0 || y + 1 == height || x + 1 == width || !in[at - width] ||
                        !in[at + width] || !in[at - 1] || !in[at + 1];
      for (size_t c = 0; c < 3; ++c) {
        uint8_t& pixel = place.data[static_cast<int64_t>(c) * place.channel_stride +
                                    y * place.row_stride + x * place.pixel_stride];
        pixel = edge ? to[c] : within[c][pixel];
      }
    }
  return result;
}

OverlayPainter::OverlayPainter(const VideoSegmentation& segmentation,
                               const std::vector<int64_t>& traced)
    : segmentation_(segmentation),
      view_(segmentation.view()),
      still_(canvas_width(segmentation), canvas_height(segmentation), kBackground) {
  check(!segmentation.areas.empty(), "overlay", "there must be a frame", "none");
  const double scale = display_scale(segmentation.height, segmentation.width);
  panel_width_ = panel_size(segmentation.width, scale);
  panel_height_ = panel_size(segmentation.height, scale);
  // Each panel in the middle of its half.
  const int half = (still_.width() - 2 * kMargin - kGap) / 2;
  left_panel_ = kMargin + (half - panel_width_) / 2;
  right_panel_ = kMargin + half + kGap + (half - panel_width_) / 2;
  left_ = kMargin + kAxis;
  right_ = still_.width() - kMargin - 8;
  top_ = kHeader + panel_height_ + kGap + 24;
  bottom_ = kHeader + panel_height_ + kGap + kCurve;
  draw_header();
  draw_curve(traced);
  draw_beats();
}

int OverlayPainter::header_middle() const { return (still_.width() + kGap) / 2; }

void OverlayPainter::draw_header() {
  still_.text(fitted(segmentation_.name, 15, header_middle() - kMargin - 2 * kGap), kMargin, 23, 15,
              kText);
  const bool known = std::isfinite(segmentation_.ef);
  still_.text(known ? fmt::format("EF {:.0f} %", segmentation_.ef) : "no beat found",
              still_.width() - kMargin, 23, 16, kText, Anchor::right);
}

double OverlayPainter::curve_x(double frame) const {
  const auto last = static_cast<double>(std::max<size_t>(segmentation_.areas.size(), 2) - 1);
  return left_ + (right_ - left_) * frame / last;
}

double OverlayPainter::curve_y(double area) const {
  return bottom_ - (bottom_ - top_) * (area - low_) / (high_ - low_);
}

void OverlayPainter::draw_curve(const std::vector<int64_t>& traced) {
  const std::vector<double>& areas = segmentation_.areas;
  const auto [least, most] = std::minmax_element(areas.begin(), areas.end());
  const double room = std::max(1., 0.08 * (*most - *least));
  const report::Ticks ticks =
      report::choose_ticks(std::max(0., *least - room), *most + room, {.wanted = 4});
  low_ = ticks.low;
  high_ = ticks.high;
  still_.rectangle(left_, top_, right_ - left_, bottom_ - top_, kPanel);
  for (const double value : ticks.at) {
    still_.line(left_, curve_y(value), right_, curve_y(value), kGrid);
    still_.text(report::tick_text(value), left_ - 6, curve_y(value) + 4, 11, kQuiet, Anchor::right);
  }
  still_.text("area (pixels)", kMargin, top_ - 9, 12, kQuiet);
  const report::Ticks frames =
      report::choose_ticks(0, static_cast<double>(std::max<size_t>(areas.size(), 2) - 1),
                           {.wanted = 8, .fixed_low = true, .fixed_high = true});
  for (const double value : frames.at)
    still_.text(report::tick_text(value), curve_x(value), bottom_ + 15, 11, kQuiet, Anchor::middle);
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < areas.size(); ++i)
    points.push_back({curve_x(static_cast<double>(i)), curve_y(areas[i])});
  still_.polyline(points, kMaskColour, 2);
  still_.text("frame", right_, bottom_ + 34, 12, kQuiet, Anchor::right);
  // Below: what the marks mean.
  double x = left_;
  const double y = bottom_ + 34;
  const auto entry = [&](const char* name, Colour colour, bool filled) {
    still_.circle(x + 5, y - 4, filled ? 4.5 : 5.5, colour, filled);
    still_.text(name, x + 16, y, 12, kText);
    x += 16 + report::Canvas::text_width(name, 12) + 20;
  };
  entry("end of diastole", kDiastole, true);
  entry("end of systole", kSystole, true);
  if (!traced.empty()) entry("traced by hand", kText, false);
  for (const int64_t frame : traced)
    if (frame >= 0 && frame < static_cast<int64_t>(areas.size()))
      still_.circle(curve_x(static_cast<double>(frame)), curve_y(areas[static_cast<size_t>(frame)]),
                    7, kText, false);
}

void OverlayPainter::draw_beats() {
  const auto area = [&](int64_t frame) { return segmentation_.areas[static_cast<size_t>(frame)]; };
  double free_from = 0;  // where the next label may start
  for (size_t i = 0; i < segmentation_.beats.size(); ++i) {
    const Beat& beat = segmentation_.beats[i];
    const double from = curve_x(static_cast<double>(beat.diastole));
    const double to = curve_x(static_cast<double>(beat.systole));
    still_.circle(from, curve_y(area(beat.diastole)), 4.5, kDiastole);
    still_.circle(to, curve_y(area(beat.systole)), 4.5, kSystole);
    const std::string label =
        beat.cut ? "cut" : fmt::format("EF {:.0f} %", segmentation_.beat_efs[i]);
    const double half = report::Canvas::text_width(label, 12) / 2;
    const double middle = std::clamp((from + to) / 2, left_ + half, right_ - half);
    if (middle - half < free_from) continue;
    still_.text(label, middle, top_ - 9, 12, kText, Anchor::middle);
    free_from = middle + half + 8;
  }
}

std::vector<Tensor> OverlayPainter::paint(const std::vector<Tensor>& frames, int64_t first) const {
  std::vector<Tensor> painted(frames.size());
  parallel_for(0, std::ssize(frames), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      painted[static_cast<size_t>(i)] = paint(frames[static_cast<size_t>(i)], first + i);
  });
  return painted;
}

Tensor OverlayPainter::paint(const Tensor& frame, int64_t index) const {
  check(index >= 0 && index < static_cast<int64_t>(segmentation_.areas.size()), "overlay",
        "frame must be 0 to the number of frames - 1", index, " of ", segmentation_.areas.size());
  report::Canvas canvas = still_;
  const Tensor large =
      data::Transforms{data::Resize{.size = {panel_height_, panel_width_}}}(frame.contiguous());
  // Its pixels side by side, as the canvas has them.
  const Tensor shown = large.permute({1, 2, 0}).contiguous().permute({2, 0, 1});
  const Tensor mask = view_.grow(segmentation_.masks[index], panel_height_, panel_width_);
  canvas.picture(shown, left_panel_, kHeader);
  canvas.picture(tinted(shown, mask), right_panel_, kHeader);
  const Chord& axis = segmentation_.axes[static_cast<size_t>(index)];
  const double area = segmentation_.areas[static_cast<size_t>(index)];
  if (area > 0) {
    const double scale_x =
        static_cast<double>(panel_width_) / static_cast<double>(segmentation_.width);
    const double scale_y =
        static_cast<double>(panel_height_) / static_cast<double>(segmentation_.height);
    canvas.line(right_panel_ + (axis.x1 + 0.5) * scale_x, kHeader + (axis.y1 + 0.5) * scale_y,
                right_panel_ + (axis.x2 + 0.5) * scale_x, kHeader + (axis.y2 + 0.5) * scale_y,
                kText, 1.2);
  }
  canvas.text(
      fmt::format("frame {} of {}   {:.0f} pixels", index, segmentation_.areas.size(), area),
      header_middle(), 23, 13, kQuiet);
  // The ends of diastole and systole stand long enough to be seen.
  constexpr int64_t kHold = 3;
  for (const Beat& beat : segmentation_.beats) {
    const auto say = [&](int64_t at, const char* text, Colour colour) {
      if (std::abs(index - at) > kHold) return;
      canvas.rectangle(right_panel_, kHeader, panel_width_, panel_height_, colour, false);
      canvas.text(text, right_panel_ + 10, kHeader + 24, 18, colour);
    };
    say(beat.diastole, "ED", kDiastole);
    say(beat.systole, "ES", kSystole);
  }
  const double x = curve_x(static_cast<double>(index));
  canvas.line(x, top_, x, bottom_, kCursor, 1);
  canvas.circle(x, curve_y(area), 3.5, kCursor);
  return std::move(canvas).image();
}

report::Page::Film outlined_film(const Tensor& frames, const Tensor& masks, double fps,
                                 const std::string& caption) {
  constexpr int64_t kSide = 224;
  const int64_t height =
      std::max<int64_t>(kSide * frames.size(2) / std::max<int64_t>(frames.size(3), 1), 1);
  Tensor film = empty({frames.size(0), 3, height, kSide}, {.dtype = u8});
  for (int64_t i = 0; i < frames.size(0); ++i) {
    report::Canvas canvas(static_cast<int>(kSide), static_cast<int>(height), {0, 0, 0});
    canvas.picture(tinted(frames[i], masks[i], kMaskColour, 0), 0, 0, static_cast<int>(kSide));
    film[i].copy_(std::move(canvas).image());
  }
  return {.frames = film, .fps = fps > 0 ? fps : 50, .caption = caption};
}

void write_overlay(const std::string& path, const VideoSegmentation& segmentation,
                   const data::VideoReader& video, const std::vector<int64_t>& traced,
                   const std::function<void(int64_t done, int64_t count)>& progress,
                   const std::string& film) {
  const OverlayPainter painter(segmentation, traced);
  const auto count = static_cast<int64_t>(segmentation.areas.size());
  const double fps = segmentation.fps > 0 ? segmentation.fps : 50;
  data::VideoWriter writer(path, {.fps = fps});
  std::optional<data::VideoWriter> second;
  if (!film.empty()) second.emplace(film, data::VideoWriterOptions{.fps = fps});
  constexpr int64_t kMostFrames = 32;  // in memory at once, of each kind
  const int64_t part = std::min(int64_t{4} * get_num_threads(), kMostFrames);
  const auto read = [&](int64_t first) {
    return with_code(ExitCode::data, [&] {
      std::vector<Tensor> frames;
      for (int64_t i = first; i < std::min(first + part, count); ++i)
        frames.push_back(video.read(i));
      return frames;
    });
  };
  // While the threads paint a part, one more writes the film of the part before and reads the next:
  // both go frame by frame.
  const std::launch beside =
      get_num_threads() > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  std::vector<Tensor> frames = read(0);
  std::vector<Tensor> before;
  for (int64_t first = 0; first < count; first += part) {
    auto next = std::async(beside, [&] {
      if (second) second->write(before);
      return read(first + part);
    });
    std::vector<Tensor> painted = painter.paint(frames, first);
    writer.write(painted);
    frames = next.get();
    before = std::move(painted);
    if (progress) progress(std::min(first + part, count), count);
  }
  if (second) second->write(before);
  writer.close();
  if (second) second->close();
}

}  // namespace aorta::echo
