#pragma once

#include <aorta/core/shape.h>

namespace aorta {

class Tensor;

/// The dimensions that a reduction runs over: one, several, or all when none are given.
class ReduceDims {
 public:
  ReduceDims() = default;
  /// No bool: PyTorch's `x.var(False)` has its correction there, which is the second argument here.
  template <std::integral First, std::integral... Rest>
  requires(!std::same_as<First, bool>) ReduceDims(First first, Rest... rest)  // NOLINT: implicit
      : dims_{first, rest...} {}
  ReduceDims(const Dims& dims) : dims_(dims) {}  // NOLINT: implicit

  /// Not negative, ascending, every dimension when none were given. Throws on one out of range
  /// and on one given twice.
  Dims resolve(const char* op, const Tensor& input) const;

 private:
  Dims dims_;
};

}  // namespace aorta
