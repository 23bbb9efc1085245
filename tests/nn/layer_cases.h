#pragma once

#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/transformer_cases.h>

#include <string>
#include <vector>

// Every layer with what PyTorch computed of it, for the tests on the CPU and on a device.

namespace aorta::nn {

std::vector<Case> layer_cases();
const Fixture& layer_fixtures();

/// The state, in PyTorch's order: keys are state/NNN/NAME.
NamedTensors state_of(const Fixture& fixture);
/// Copies that gradients are taken of where they are floating, in that dtype.
Tensors as_leaves(const Tensors& values, DType dtype, Device device = {});
/// A layer with the fixture's state.
AnyModule loaded_layer(const Maker& make, const Fixture& fixture, DType dtype);

/// What differs from PyTorch: outputs, gradients, buffers after it, outputs in eval mode. Nothing
/// where the layer that `make` makes is right.
std::string layer_difference(const Case& one, const Maker& make, DType dtype, Device device = {});

}  // namespace aorta::nn
