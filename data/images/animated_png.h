#pragma once

#include <aorta/core/tensor.h>

namespace aorta::data {

/// The bytes of an animated PNG file, u8 (N), of frames u8 (T, C, H, W), shown again and again;
/// C as of encode_png(), which makes the frames. Browsers play it where they show a PNG image, and
/// what doesn't know animations shows the first frame. `fps`: 0.02 to 1000 frames a second.
/// Source: PNG specification, third edition, W3C 2025, "Animation information".
Tensor encode_animated_png(const Tensor& frames, double fps);

}  // namespace aorta::data
