#pragma once

// Numbers that every op has to answer for.

#include <limits>

namespace aorta {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace aorta
