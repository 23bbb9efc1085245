#pragma once

#include <aorta/apps/echo/trainer.h>
#include <aorta/apps/echo/video/clip_trainer.h>

namespace aorta::echo {

/// What a run writes beside its checkpoints, in bytes.
struct RunContents {
  int64_t picture = 0;     // of an epoch
  int64_t evaluation = 0;  // tables and plots at the end
  int64_t videos = 0;      // overlays at the end, when one checkpoint less is there
};
/// The bytes that a run's folder holds when it holds most: three checkpoints while one is written,
/// the best weights, and everything that epochs, evaluations and videos add.
int64_t run_bytes(const RunOptions& options, const TrainingLoop& loop, const RunContents& contents);
/// The bytes of a segmenter's run.
int64_t run_bytes(const TrainOptions& options, const Trainer& trainer);
/// The bytes of a regressor's run.
int64_t run_bytes(const VideoOptions& options, const ClipTrainer& trainer);

}  // namespace aorta::echo
