#pragma once

#include <aorta/apps/echo/measure/bootstrap.h>

#include <cstdint>
#include <span>
#include <vector>

namespace aorta::echo {

struct PeakOptions {
  double distance = 1;    // samples between two peaks, at least
  double prominence = 0;  // at least
};

/// The places of local maxima, as scipy.signal.find_peaks(values, distance=, prominence=) gives
/// them: a plateau counts as its middle; of peaks that are too close the lower ones go (of equal
/// ones, the first); a peak's prominence is its height above the higher of the lowest values to its
/// left and right, up to a higher value or the end.
std::vector<int64_t> find_peaks(std::span<const double> values, const PeakOptions& options = {});

/// EchoNet's distance of two systoles: 20 frames of its 50 a second.
inline constexpr double kBeatSeconds = 0.4;

/// A heart beat: its frame of largest area and, after it, that of smallest.
struct Beat {
  int64_t diastole = 0;
  int64_t systole = 0;
  /// The area hardly grew before, so that the video may begin after the diastole: it isn't counted
  /// where there are others.
  bool cut = false;
};

/// End-systolic frames by the ventricle's area in each frame, as EchoNet finds them: the peaks of
/// -area that are kBeatSeconds apart (20 frames where `fps` isn't known, 0) and rise by half of the
/// range from the 5th to the 95th percentile. (Its code takes sorted areas number n^0.05 and n^0.95
/// for percentiles; here they are number 0.05 n and 0.95 n.)
std::vector<int64_t> find_systoles(std::span<const double> areas, double fps = 0);
/// Finds the beats: each systole with the largest area since the one before it, or since the
/// video's beginning. Frames in which nothing was found, or less than half or more than twice of
/// what was found in both beside them, say nothing: they are neither, and the areas beside them are
/// interpolated.
std::vector<Beat> find_beats(std::span<const double> areas, double fps = 0);

/// A quantity of a video from that of its beats, `beats[b][v]`, each measured in the same views:
/// the frames as they are, and as test-time augmentation shows them. The value is the mean over
/// beats and views. The range goes from the 5th to the 95th percentile of the means of as many
/// beats drawn anew, all in one view that is drawn, too: it has what differs from beat to beat, and
/// what a network makes of the same heart on another picture. Numbers that are NaN are left out;
/// all is NaN where none is left, and the range where there is a single number.
Interval mean_of_beats(std::span<const std::vector<double>> beats,
                       const BootstrapOptions& options = {});

}  // namespace aorta::echo
