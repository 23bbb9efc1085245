#pragma once

#include <aorta/tests/nn/fixture.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

// Functions of several tensors with what PyTorch computed of them, for the tests on the CPU and on
// a device.

namespace aorta::nn {

using Tensors = std::vector<Tensor>;

struct FunctionCase {
  std::string name;
  std::vector<std::string> inputs;  // names of arrays
  std::function<Tensor(const Tensors&)> call;
};

inline void PrintTo(const FunctionCase& one, std::ostream* out) { *out << one.name; }

std::vector<FunctionCase> function_cases();
const Fixture& function_fixtures();
/// The inputs, of which gradients are taken where they are floating, in that dtype.
Tensors leaves_of(const FunctionCase& one, DType dtype, Device device = {});

/// What differs from PyTorch: the output, and its gradients. Nothing where the function is right.
std::string function_difference(const FunctionCase& one, DType dtype, Device device = {});

}  // namespace aorta::nn
