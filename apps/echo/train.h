#pragma once

#include <aorta/apps/echo/train_options.h>

namespace aorta::echo {

/// Trains in a run folder until the epochs are through, and then evaluates if it was asked to.
/// Returns 0, or 128 + the number of the signal that ended it, everything saved. Throws Failure.
int train(TrainOptions options);

}  // namespace aorta::echo
