#pragma once

#include <aorta/apps/echo/trainer.h>

namespace aorta::echo {

/// The bytes that a run's folder holds when it holds most: three checkpoints while one is written,
/// the best weights, and everything that epochs, evaluations and videos add.
int64_t run_bytes(const TrainOptions& options, const Trainer& trainer);

}  // namespace aorta::echo
