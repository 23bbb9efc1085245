#pragma once

#include <aorta/apps/echo/video_masks.h>

#include <vector>

// Test-time augmentation: the same heart in other pictures. View 0 is the frame as it is, the
// others are turned by up to 10 degrees, moved by up to 5 % of the frame, scaled by 0.9 to 1.1, and
// have another gamma, 0.8 to 1.25. A view is a function of its number, the same for every frame. A
// turn, a shift and a scale don't change a ratio of volumes, so that the ejection fraction is
// measured in the view itself.

namespace aorta::echo {

/// The ejection fraction in percent of two frames of a video, end of diastole and of systole, by
/// the method of disks: as they are, and in each of `views` views, all moved by as much as makes
/// their mean that of the frames as they are. For networks know best what they were trained on, and
/// the mean of views of a network without augmentation was no better; what views tell is how far
/// they lie apart. NaN where nothing is found. What the network marks where `picture`, u8 (H, W),
/// is 0 doesn't count. A network of clips sees what is around the frames in the same view.
std::vector<double> ef_of_views(const Segmenter& segmenter, const VideoFrames& video, int64_t large,
                                int64_t small, const Tensor& picture, int64_t views);

}  // namespace aorta::echo
