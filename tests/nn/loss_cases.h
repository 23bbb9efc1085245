#pragma once

#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/option_mutants.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

// Every loss with what PyTorch computed of it, for the tests on the CPU and on a device.

namespace aorta::nn {

using Tensors = std::vector<Tensor>;
using RunLoss = std::function<Tensor(const Tensors&)>;

/// A loss, and those that ignore one of its options.
struct LossCall {
  Tensor operator()(const Tensors& in) const { return run(in); }
  RunLoss run;
  std::string loss;
  std::vector<OptionMutant<RunLoss>> mutants;
};

struct LossCase {
  std::string name;
  LossCall call;
};

inline void PrintTo(const LossCase& one, std::ostream* out) { *out << one.name; }

std::vector<LossCase> loss_cases();
const Fixture& loss_fixtures();

/// The gradients that PyTorch has, by the number of the input.
std::map<size_t, Tensor> loss_gradients(const Fixture& fixture);

/// What differs from PyTorch: the loss, and its gradients. Nothing where `run` is right.
std::string loss_difference(const std::string& name, const RunLoss& run, Device device = {});

}  // namespace aorta::nn
