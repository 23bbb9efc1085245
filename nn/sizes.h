#pragma once

#include <aorta/core/shape.h>

#include <string>

namespace aorta::nn {

/// `sizes` as `count` numbers; throws `layer: ...` when there are another number of them.
Dims sizes_of(const std::string& layer, const char* what, const Dims& sizes, int count);

namespace detail {
// Them, or 1 where there are none.
inline Dims or_one(const Dims& sizes) { return sizes.empty() ? Dims(1) : sizes; }
}  // namespace detail

/// "conv2d" of "conv" and 2.
std::string layer_name(const char* name, int spatial);

/// "3" or "(3, 5)", as PyTorch prints them.
std::string repr(const Dims& sizes);
std::string repr(bool value);
std::string repr(double value);

}  // namespace aorta::nn
