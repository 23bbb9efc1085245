#pragma once

#include <aorta/data/images/image_kernels.h>
#include <aorta/data/images/transforms.h>

// How Transforms run: a transform becomes steps, whose numbers are drawn, and steps run on each
// tensor. Internal to data/.

namespace aorta::data {

struct Flip {
  bool horizontal, vertical;
};
struct Warp {
  const char* op;
  image::Matrix to_output, to_input;
  Interpolation interpolation;
  double fill, mask_fill;
};
struct Stretch {
  image::Box box;
  bool antialias;
};
struct Move {
  const char* op;
  image::Window window;
  double mask_fill;
};
/// A transform of intensities, with its numbers drawn.
struct Jitter {
  std::array<double, 4> factors;  // brightness, contrast, saturation, hue
  std::array<int, 4> order;
};
struct Gamma {
  double gamma;
};

struct Step {
  std::variant<Flip, Warp, Stretch, Move, ToFloat, Normalize, Jitter, Gamma, GaussianNoise,
               SpeckleNoise>
      what;
  FrameSize size;  // of the frames after it
};

/// What the transforms do to frames of this size, with what is random drawn from `random`.
std::vector<Step> plan(const std::vector<Transform>& list, FrameSize size, Generator& random);

/// Throws unless the numbers of the transform are in range.
void check_transform(const Transform& transform);

/// The size of frames after the transform; -1 x -1 for one that isn't known.
FrameSize size_after(const Transform& transform, FrameSize size);

}  // namespace aorta::data
