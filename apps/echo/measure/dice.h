#pragma once

#include <aorta/apps/echo/measure/bootstrap.h>
#include <aorta/core/tensor.h>

namespace aorta::echo {

/// How much of prediction and truth is the same, in pixels of both and of either.
struct Overlap {
  int64_t intersection = 0, either = 0;

  /// 2 |A and B| / (|A| + |B|), as EchoNet has it; NaN where both are empty.
  double dice() const;
  Overlap& operator+=(const Overlap& other);
};

/// Counts the overlap of masks (H, W) u8 on one device, nonzero inside.
Overlap overlap(const Tensor& mask, const Tensor& trace);

/// The overlaps in the two traced frames of a video.
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
