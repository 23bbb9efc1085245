#pragma once

#include <aorta/core/tensor.h>

namespace aorta::nn {

/// How grid_sample reads between positions; bilinear of (N, C, D, H, W) is trilinear, and
/// bicubic tricubic.
enum class GridSampleMode : uint8_t { bilinear, nearest, bicubic };
/// What lies outside: zeros, the positions at the border, or the inside mirrored at its border.
enum class GridSamplePadding : uint8_t { zeros, border, reflection };

/// The options of grid_sample, with PyTorch's names and defaults.
struct GridSampleOptions {
  GridSampleMode mode = GridSampleMode::bilinear;
  GridSamplePadding padding_mode = GridSamplePadding::zeros;
  /// -1 and 1 are the centres of the outermost positions (else: their outer edges).
  bool align_corners = false;
};
/// The input (N, C, H, W) at the points of grid (N, H', W', 2), or (N, C, D, H, W) at those of
/// (N, D', H', W', 3) -> (N, C, H', W') or (N, C, D', H', W'). A point is (x, y) or (x, y, z) in
/// [-1, 1]^n, x along W. nearest rounds halves to even; bicubic is Keys' kernel with a = -0.75. A
/// NaN is a point outside, before the first position. Floating, one dtype for both; half types are
/// computed in f32 and rounded once. Both gradients; that of a coordinate beyond or on the border
/// is 0 with border, and that of nearest is 0. Composed of gather, so second derivatives are there.
/// Jaderberg et al. 2015.
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleOptions& options = {});

/// The grid (N, H, W, 2) that maps the points of an output of `size` (N, C, H, W) by
/// theta (N, 2, 3), or (N, D, H, W, 3) of (N, C, D, H, W) by (N, 3, 4): theta (x, y, 1)^T with x
/// and y in [-1, 1], as grid_sample counts them with the same align_corners. Differentiable in
/// theta.
Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners = false);

}  // namespace aorta::nn
