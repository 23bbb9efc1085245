#pragma once

#include <aorta/core/ops/convolution.h>

#include <type_traits>

namespace aorta::nn {

/// A number for each spatial dimension, or one for all: `3`, `{3, 5}`.
class Sizes : public Dims {
 public:
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Sizes(T size) : Dims{static_cast<int64_t>(size)} {}           // NOLINT: implicit
  Sizes(std::initializer_list<int64_t> sizes) : Dims(sizes) {}  // NOLINT: implicit
  Sizes(const Dims& sizes) : Dims(sizes) {}                     // NOLINT: implicit
};

/// The same for the padding of a convolution, which may also be "valid" or "same".
class Padding : public ConvPadding {
 public:
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Padding(T size) : ConvPadding{static_cast<int64_t>(size)} {}           // NOLINT: implicit
  Padding(std::initializer_list<int64_t> sizes) : ConvPadding(sizes) {}  // NOLINT: implicit
  Padding(const Dims& sizes) : ConvPadding(sizes) {}                     // NOLINT: implicit
  Padding(const char* name) : ConvPadding(name) {}                       // NOLINT: implicit
};

/// `sizes` as `count` numbers; throws `layer: ...` when there are another number of them.
Dims sizes_of(const std::string& layer, const char* what, const Dims& sizes, int count);

/// "conv2d" of "conv" and 2.
std::string layer_name(const char* name, int spatial);

/// "3" or "(3, 5)", as PyTorch prints them.
std::string repr(const Dims& sizes);
std::string repr(bool value);
std::string repr(double value);

}  // namespace aorta::nn
