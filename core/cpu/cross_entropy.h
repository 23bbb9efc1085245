#pragma once

#include <aorta/core/cpu/isa.h>

#include <cstdint>

namespace aorta::cpu {

/// Lines of classes side by side (`columns` of them, rows `stride` elements apart) or one
/// contiguous line (columns = 1, stride = 1), all of float or double.
struct ClassPanel {
  const void* input;
  const void* probabilities;  // null for classes as target
  const void* weight;         // of each class, or null
  int64_t stride, length, columns;
  double share;  // of every class in a smoothed target, and
  double kept;   // of the target's own
  // By line: the largest element, the log of the sum of exponentials of differences to it, and the
  // sum of the smoothed target's weights (with probabilities).
  void *largest, *log_sum, *mass;
};

/// The statistics; `losses` (double) gets each line's sum of w_c (share + kept p_c) -l_c, p = 0
/// without probabilities; 0 where `share` and `kept` are.
using ClassPanelFunction = void (*)(const ClassPanel& panel, double* losses);
/// output = softmax * scale - w_c * (share + kept p_c) * gradient, by line.
using ClassPanelBackwardFunction = void (*)(const ClassPanel& panel, const double* scale,
                                            const double* gradient, void* output);

/// The most columns of a panel.
inline constexpr int64_t kClassColumns = 64;

/// An instruction set's loops over one line, or over several lines side by side.
struct ClassLossLoops {
  ClassPanelFunction (*line)(bool is_double);
  ClassPanelFunction (*columns)(bool is_double);
  ClassPanelBackwardFunction (*line_backward)(bool is_double);
  ClassPanelBackwardFunction (*columns_backward)(bool is_double);
};
AORTA_ISA_TABLE(ClassLossLoops, class_loss_loops)

}  // namespace aorta::cpu
