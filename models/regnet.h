#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/pooling.h>

// RegNet (Radosavovic et al. 2020, "Designing Network Design Spaces") with torchvision's modules
// and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// Widths of blocks grow along a line that is rounded to powers of `step` times the first: the
/// parameters of the paper, d, w_0, w_a, w_m and g.
struct RegNetLayout {
  int64_t depth;  // blocks
  int64_t first;  // the line's width at the first block
  double slope, step;
  int64_t group_width;
  /// The share of a block's input channels that its squeeze and excitation has, the Y networks'; 0:
  /// it has none.
  double squeeze = 0;  // in [0, 1]
};
/// The networks of the paper by their multiply-adds of an image of 224 x 224.
inline constexpr RegNetLayout kRegNetX400MF{22, 24, 24.48, 2.54, 16};
inline constexpr RegNetLayout kRegNetX800MF{16, 56, 35.73, 2.28, 16};
inline constexpr RegNetLayout kRegNetX1_6GF{18, 80, 34.01, 2.25, 24};
inline constexpr RegNetLayout kRegNetX3_2GF{25, 88, 26.31, 2.25, 48};
inline constexpr RegNetLayout kRegNetX8GF{23, 80, 49.56, 2.88, 120};
inline constexpr RegNetLayout kRegNetX16GF{22, 216, 55.59, 2.1, 128};
inline constexpr RegNetLayout kRegNetX32GF{23, 320, 69.86, 2.0, 168};
inline constexpr RegNetLayout kRegNetY400MF{16, 48, 27.89, 2.09, 8, 0.25};
inline constexpr RegNetLayout kRegNetY800MF{14, 56, 38.84, 2.4, 16, 0.25};
inline constexpr RegNetLayout kRegNetY1_6GF{27, 48, 20.71, 2.65, 24, 0.25};
inline constexpr RegNetLayout kRegNetY3_2GF{21, 80, 42.63, 2.66, 24, 0.25};
inline constexpr RegNetLayout kRegNetY8GF{17, 192, 76.82, 2.19, 56, 0.25};
inline constexpr RegNetLayout kRegNetY16GF{18, 200, 106.23, 2.48, 112, 0.25};
inline constexpr RegNetLayout kRegNetY32GF{20, 232, 115.89, 2.53, 232, 0.25};
inline constexpr RegNetLayout kRegNetY128GF{27, 456, 160.83, 2.52, 264, 0.25};

/// (N, 3, H, W) -> (N, classes).
class RegNet : public nn::Module {
 public:
  /// The first width must be a multiple of 8, the slope at least 0 and the step above 1.
  explicit RegNet(const RegNetLayout& layout, int64_t num_classes = 1000);
  RegNet(nn::Module& owner, const char* name, const RegNetLayout& layout,
         int64_t num_classes = 1000)
      : RegNet(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential stem{*this, "stem"};
  nn::Sequential trunk_output{*this, "trunk_output"};
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Linear fc;
};

}  // namespace aorta::models
