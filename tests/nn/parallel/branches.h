#pragma once

#include <aorta/nn/linear.h>

namespace aorta::nn {

// A network that uses one of two layers, and never a third.
struct Branches : Module {
  explicit Branches(int64_t outputs = 1)
      : left(*this, "left", 1, outputs, {.bias = false}),
        right(*this, "right", 1, outputs, {.bias = false}),
        nowhere(*this, "nowhere", 1, outputs) {}
  Tensor forward(const Tensor& x) const override { return goes_right ? right(x) : left(x); }

  Linear left, right, nowhere;
  bool goes_right = false;
};

}  // namespace aorta::nn
