#pragma once

#include <aorta/apps/echo/segment.h>
#include <aorta/report/canvas.h>
#include <aorta/report/page.h>

#include <optional>

namespace aorta::echo {

/// The ventricle of pictures that people look at.
inline constexpr report::Colour kMaskColour{56, 189, 248};

/// A frame u8 (3, H, W) with the inside of a mask u8 (H, W) in a colour by `strength` (0 to 1), and
/// the mask's edge, the pixels inside that touch the outside, fully so.
Tensor tinted(const Tensor& frame, const Tensor& mask, report::Colour colour = kMaskColour,
              double strength = 0.3);

/// Frames u8 (T, 3, H, W) as a film, the edge of each one's mask, of u8 (T, H, W), in blue.
report::Page::Film outlined_film(const Tensor& frames, const Tensor& masks, double fps,
                                 const std::string& caption);

/// Draws the frames of an overlay video: the original, beside it the segmentation with the long
/// axis, and under both the curve of the area with the ends of diastole and systole, each beat's
/// EF, and where in it this frame is. Small videos are enlarged and large ones shrunk.
class OverlayPainter {
 public:
  /// `traced`: frames that were chosen by hand, which are marked on the curve.
  explicit OverlayPainter(const VideoSegmentation& segmentation,
                          const std::vector<int64_t>& traced = {});

  /// Frame `index` of the video, u8 (3, H, W) -> u8 (3, height, width), both even.
  Tensor paint(const Tensor& frame, int64_t index) const;
  /// Frames `first` and those behind it, by all threads.
  std::vector<Tensor> paint(const std::vector<Tensor>& frames, int64_t first) const;

 private:
  void draw_header();
  void draw_curve(const std::vector<int64_t>& traced);
  void draw_beats();
  int header_middle() const;
  double curve_x(double frame) const;
  double curve_y(double area) const;

  const VideoSegmentation& segmentation_;
  FrameView view_;
  int panel_width_ = 0, panel_height_ = 0;
  int left_panel_ = 0, right_panel_ = 0;  // where they begin
  double low_ = 0, high_ = 1;             // of the curve's areas
  double left_ = 0, right_ = 0;           // of the curve, in pixels
  double top_ = 0, bottom_ = 0;
  report::Canvas still_;  // what is the same in each frame
};

/// Writes the overlay video of a video that was segmented, whole or not at all, and the same to
/// `film` where that is named. Where a file doesn't say how fast it is, 50 frames a second.
void write_overlay(const std::string& path, const VideoSegmentation& segmentation,
                   const data::VideoReader& video, const std::vector<int64_t>& traced = {},
                   const std::function<void(int64_t done, int64_t count)>& progress = nullptr,
                   const std::string& film = {});

}  // namespace aorta::echo
