#pragma once

#include <aorta/apps/echo/report_parts.h>
#include <aorta/apps/echo/video/clip_evaluation.h>
#include <aorta/apps/echo/video/clip_trainer.h>

// What people look at of a regressor's run.

namespace aorta::echo {

/// The mean absolute error of each epoch, as SVG.
std::string error_curves(const History& history, const std::string& task);

/// "EF MAE 4.05 RMSE 5.32 R2 0.810".
std::string last_line(const ClipEvaluation& evaluation);

/// report.html: one page with everything about the run. `evaluations` are those of the best
/// weights, one at least; their plots are in the folder.
void write_clip_report(const RunFolder& folder, const VideoOptions& options, const History& history,
                       const std::vector<Figure>& figures, const ClipTrainer& trainer,
                       const std::vector<ClipEvaluation>& evaluations);

}  // namespace aorta::echo
