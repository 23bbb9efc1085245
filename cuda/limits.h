#pragma once

#include <cstdint>

namespace aorta::cuda {

/// Where kernels leave the way of most tensors for that of huge ones.
/// AORTA_CUDA_LIMITS=ELEMENTS,BLOCKS makes both smaller, so that a test takes every way with small
/// tensors.
struct Limits {
  int64_t elements = int64_t{1} << 31;  // fewer are counted in 32 bits, and by the fast division
  int64_t blocks = 1 << 30;             // of a grid along x; kernels walk over the rest

  /// Reads "ELEMENTS,BLOCKS": from 2 and from 1 to the limits above. Throws for any other text.
  static Limits parse(const char* text);
};

/// The limits of this process, read when they are first asked for.
const Limits& limits();

/// The blocks of a grid that walks over `wanted` of them.
unsigned grid_blocks(int64_t wanted);

}  // namespace aorta::cuda
