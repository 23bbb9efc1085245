#pragma once

#include <aorta/core/number.h>
#include <aorta/core/tensor.h>

#include <map>
#include <string>

// The public functions that take a number, for numbers_test.cc.
namespace aorta {

// x is (4), positive; the number goes where the function takes one.
using Call = Tensor (*)(const Tensor& x, const Scalar& number);

struct Function {
  Call call;
  Call in_place = nullptr;
  /// PyTorch's rule for what is stored, and arithmetic: elements that aren't signed take a negative
  /// integer for what it is modulo 2^8.
  bool modular = false;
  /// What the elements are widened to for comparison.
  DType wide = f64;
};

using Functions = std::multimap<std::string, Function>;

const Functions& functions();

}  // namespace aorta
