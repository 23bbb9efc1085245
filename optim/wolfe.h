#pragma once

#include <aorta/core/tensor.h>

#include <cmath>
#include <functional>

// The line search of L-BFGS. For the files of this room.

namespace aorta::optim::wolfe {

/// A place at distance t along the direction: the loss and its slope there, the gradient (N), and
/// its largest element by size.
struct Trial {
  double t = 0, loss = 0, slope = 0;
  Tensor gradient;
  double largest = 0;

  bool is_finite() const { return std::isfinite(loss) && std::isfinite(largest); }
};

/// A place that meets the strong Wolfe conditions with c1 = 1e-4 and c2 = 0.9, from `start` (t = 0,
/// slope below 0, finite) with `first` as the first t; or the lowest end of the bracket, when its
/// length times `size` (the direction's largest element) is below `tolerance`, or `limit` trials
/// were made after the first. A trial that isn't finite is too far: the bracket is halved. Nocedal
/// and Wright, Numerical Optimization, 2nd ed., algorithms 3.5 and 3.6.
Trial search(const std::function<Trial(double t)>& evaluate, const Trial& start, double first,
             int64_t limit, double size, double tolerance);

}  // namespace aorta::optim::wolfe
