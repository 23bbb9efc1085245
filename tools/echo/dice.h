#pragma once

#include <aorta/core/tensor.h>
#include <aorta/tools/echo/bootstrap.h>

namespace aorta::echo {

/// How much of two masks is the same, in pixels.
struct Overlap {
  int64_t both = 0;    // the intersection
  int64_t either = 0;  // the union

  /// 2 both / (either + both), as EchoNet defines it; 1 for two empty masks.
  double dice() const;
  Overlap& operator+=(const Overlap& other);
};

/// Of masks (H, W) u8 on one device, nonzero inside.
Overlap overlap(const Tensor& mask, const Tensor& trace);

/// Of the two traced frames of a video.
struct VideoOverlap {
  Overlap large, small;

  /// 2 (I_large + I_small) / (U_large + I_large + U_small + I_small).
  double dice() const;
};

/// The Dice of a data set, all of its pixels pooled, with a bootstrap interval over videos.
struct DiceScores {
  Interval overall, large, small;
};
DiceScores dice_scores(std::span<const VideoOverlap> videos, const BootstrapOptions& options = {});

}  // namespace aorta::echo
