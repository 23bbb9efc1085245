#pragma once

#include <aorta/apps/echo/video/video_options.h>

namespace aorta::echo {

/// Trains a regressor in a run folder until the epochs are through, and evaluates VAL, and TEST if
/// it was asked to. Returns 0, or 128 + the number of the signal that ended it, everything saved.
/// Throws Failure.
int train_on_clips(VideoOptions options);

}  // namespace aorta::echo
