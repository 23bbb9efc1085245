#pragma once

#include <aorta/core/tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace aorta::report {

struct Colour {
  uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Colour&) const = default;
};

/// Which end of a text stands at its x.
enum class Anchor { left, middle, right };

/// A picture of pixels to draw on, for frames of videos and for samples; what lies outside is cut
/// off. Coordinates are SVG's: (0, 0) is the upper left corner of the picture, a pixel's centre is
/// at halves, y goes down. Outlines are antialiased; a coordinate that isn't finite draws nothing.
///
///     report::Canvas canvas(448, 300, {24, 24, 27});
///     canvas.picture(frame, 0, 0, 448);
///     canvas.text("EF 61 %", 440, 20, 14, {255, 255, 255}, report::Anchor::right);
///     data::write_png(canvas.image(), "frame.png");
///
/// Errors: `canvas: size must be 1 to 32767 pixels each way, ...`,
/// `canvas: picture must be u8 (1|3, h, w), ...`, `canvas: picture's size must be ..., ...`.
class Canvas {
 public:
  Canvas(int width, int height, Colour background);
  Canvas(const Canvas& other);
  Canvas(Canvas&&) noexcept = default;
  Canvas& operator=(const Canvas&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }

  /// An image u8 (1 or 3, h, w), or (h, w), with its upper left corner at (x, y). With a width, a
  /// height or both it is resized, one alone keeping the shape: each pixel repeated for whole
  /// multiples of its size, else linearly, or by area where it shrinks.
  void picture(const Tensor& image, int x, int y, int width = 0, int height = 0);
  /// Round at both ends; `width` in pixels.
  void line(double x0, double y0, double x1, double y1, Colour colour, double width = 1);
  /// Lines from point to point; one that isn't finite is a gap.
  void polyline(std::span<const std::pair<double, double>> points, Colour colour, double width = 1);
  /// Filled, or its outline one pixel wide inside of it.
  void rectangle(double x, double y, double width, double height, Colour colour,
                 bool filled = true);
  /// Filled, or its outline 1.5 pixels wide.
  void circle(double x, double y, double radius, Colour colour, bool filled = true);
  /// Text on the baseline y; capitals are 0.7 x `size_px` high. Letters are those of ASCII; of
  /// others some have a likeness ("±" is "+-"), the rest is "?".
  void text(std::string_view text, double x, double y, double size_px, Colour colour,
            Anchor anchor = Anchor::left);
  /// How many pixels that text takes.
  static double text_width(std::string_view text, double size_px);

  /// The picture so far, u8 (3, H, W); its pixels lie side by side. A canvas that isn't drawn on
  /// any more, `std::move(canvas).image()`, gives its own.
  Tensor image() const&;
  Tensor image() &&;

 private:
  struct Box;
  template <class Draw>
  void paint(const Box& box, Colour colour, const Draw& draw);
  Box box(double left, double top, double right, double bottom) const;

  int width_, height_;
  Tensor pixels_;  // (H, W, 3)
};

}  // namespace aorta::report
