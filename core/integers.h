#pragma once

#include <aorta/core/host_device.h>

#include <cstdint>

namespace aorta {

/// a / b rounded up; a >= 0, b > 0.
AORTA_INLINE constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// The least multiple of b that is not below a; a >= 0, b > 0.
AORTA_INLINE constexpr int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

}  // namespace aorta
