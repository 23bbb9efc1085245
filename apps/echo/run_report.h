#pragma once

#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/report_parts.h>
#include <aorta/apps/echo/trainer.h>

// What people look at of a segmenter's run.

namespace aorta::echo {

/// The Dice of each epoch, as SVG.
std::string dice_curves(const History& history);

/// A frame with the trace's outline and the network's mask, (3, H, W).
Tensor sample_picture(const Tensor& frame, const Tensor& mask, const Tensor& trace);
/// The pictures of the traced frames of up to `count` videos of VAL, side by side.
Tensor sample_pictures(const Trainer& trainer, int64_t count);

/// The best epoch's network and its evaluations, one at least, whose plots are in the run's folder.
struct Best {
  const Segmenter& segmenter;
  const std::vector<Evaluation>& evaluations;
};
/// report.html: one page with everything about the run.
void write_report(const RunFolder& folder, const TrainOptions& options, const History& history,
                  const std::vector<Figure>& figures, const Trainer& trainer, const Best& best);

}  // namespace aorta::echo
