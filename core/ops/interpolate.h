#pragma once

#include <aorta/core/body/interpolate.h>
#include <aorta/core/dispatch/op_table.h>

#include <memory>
#include <optional>
#include <vector>

namespace aorta {

/// linear takes (N, C, L), bilinear and bicubic (N, C, H, W), trilinear (N, C, D, H, W), and both
/// nearest and area all three.
enum class InterpolateMode : uint8_t {
  nearest,
  nearest_exact,
  linear,
  bilinear,
  bicubic,
  trilinear,
  area
};
/// PyTorch's name: "nearest-exact".
const char* to_string(InterpolateMode mode);

/// Either `size` or `scale_factor`: a number for each spatial dimension or one for all.
struct InterpolateOptions {
  Dims size = {};
  List<double> scale_factor = {};  // sizes are floor(size * scale_factor)
  InterpolateMode mode = InterpolateMode::nearest;
  /// The corners of input and output are the same points (else: the corners of their pixels). Not
  /// for the nearest modes and area.
  std::optional<bool> align_corners = {};
  /// Take the ratio of the sizes instead of `scale_factor` itself.
  bool recompute_scale_factor = false;
  /// Smooth what the smaller image can't show. For bilinear and bicubic.
  bool antialias = false;
};

/// Resamples the spatial dimensions. Output position o is point s = (o + 1/2) r - 1/2 of the input,
/// where r = 1 / scale_factor, or the ratio of the sizes; with align_corners, o (in - 1) / (out -
/// 1). nearest takes position floor(o r), nearest_exact floor((o + 1/2) r). The linear modes weight
/// the two neighbours of s along each dimension by 1 - distance; bicubic weights four by Keys'
/// kernel with a = -0.75. Positions outside are those at the border. With antialias the kernel
/// (Keys' with a = -0.5) is r times as wide where r > 1, and the weights of what lies inside have
/// the sum 1, as Pillow's; a line that keeps its size stays as it is. area is the mean of the
/// pixels that an output overlaps, as adaptive_avg_pool. Floating dtypes; half types are computed
/// in f32 and rounded once. channels_last is kept.
Tensor interpolate(const Tensor& input, const InterpolateOptions& options);

}  // namespace aorta

namespace aorta::kernel {

/// How one dimension is resampled; see body::InterpolateMap.
struct InterpolateTable {
  int64_t input = 1, output = 1;
  std::vector<int32_t> first = {0, 1}, index = {0};
  std::vector<double> weight = {1};
};
/// depth, height and width; the last `spatial` ones count.
struct InterpolatePlan {
  int spatial = 2;
  InterpolateTable tables[3];
};
using InterpolatePlanRef = std::shared_ptr<const InterpolatePlan>;
/// How `interpolate` makes an output of the shape `to` of an input of the shape `from`.
InterpolatePlanRef interpolate_plan(const Shape& from, const Shape& to,
                                    const InterpolateOptions& options);
/// A linear map of the spatial dimensions, in two passes: along depth and height, then along width,
/// terms in the order of the tables.
Tensor resample(const Tensor& input, const InterpolatePlanRef& plan);
/// The map that takes gradients back: every input position gathers from the outputs that read it,
/// in their order.
InterpolatePlanRef transposed_plan(const InterpolatePlan& plan);

using InterpolateKernel = void (*)(const body::InterpolateArgs& args);
extern Op<InterpolateKernel,
          void (*)(Tensor& output, const Tensor& input, const InterpolatePlanRef& plan)>
    interpolate_op;

}  // namespace aorta::kernel
