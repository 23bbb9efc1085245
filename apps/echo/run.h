#pragma once

#include <aorta/apps/echo/job.h>

namespace aorta::echo {

/// Throws Failure(usage or environment) for options that no run can have, and completes the data
/// folder.
void check_run_options(RunOptions& options);

/// Trains in a run folder until the epochs are through, and then evaluates. Returns 0, or 128 + the
/// number of the signal that ended it, everything saved. Throws Failure.
int run(Job& job);

}  // namespace aorta::echo
