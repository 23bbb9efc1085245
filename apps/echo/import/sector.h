#pragma once

#include <aorta/data/video/video.h>

#include <optional>

namespace aorta::echo {

/// A rectangle of a picture, in pixels.
struct Box {
  int64_t left = 0, top = 0, width = 0, height = 0;
  bool operator==(const Box&) const = default;
};

/// The part of a scanner's picture that shows the heart: a fan, or what was cut of one.
struct Sector {
  Tensor mask;  // u8 (H, W): 1 inside
  Box box;      // the smallest around it, and up to where its straight sides meet: at the probe,
                // where it is narrow and dark
};

/// Finds the sector of a video of grey frames. A sector is where pixels change from frame to frame,
/// as speckle does and text doesn't; lines as thin as an ECG's are no part of it, nor is what lies
/// apart from the largest such part. The sector is the smallest convex shape around that part: so
/// dark chambers and drop-out at its edges belong to it. Of a picture that doesn't change it is
/// what is lit. `within`: where to look; without, everywhere. Nothing where a hundredth of
/// that part isn't lit.
std::optional<Sector> find_sector(const data::VideoReader& video,
                                  const std::optional<Box>& within = {});

/// Resizes a picture, u8 (C, H, W), by bicubic convolution (Keys 1981, a = -0.75), between the
/// middles of pixels, edges repeated, and without smoothing before: as OpenCV's INTER_CUBIC, with
/// which EchoNet's videos were made.
Tensor cubic_resized(const Tensor& picture, int64_t height, int64_t width);

}  // namespace aorta::echo
