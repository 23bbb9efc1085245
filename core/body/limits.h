#pragma once

namespace aorta::body {

/// The most dimensions of a tensor (kMaxDims of core/shape.h).
inline constexpr int kMaxDims = 12;

}  // namespace aorta::body
