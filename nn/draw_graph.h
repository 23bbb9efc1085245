#pragma once

#include <aorta/nn/module.h>

namespace aorta::nn {

/// One call of a module as an SVG picture, from the input at the top to the output at the bottom:
/// a blue box a module, with its name, its type and its parameters; a grey one a function that a
/// module with others inside calls itself; a green one a tensor that goes in or comes out. Arrows
/// carry the shapes. What lies more than `depth` names deep is part of the box above it. The
/// call records a graph and is made in the module's mode, so in training running statistics move.
/// Errors: an output without a graph (nothing in it requires a gradient).
std::string draw_graph(const Module& module, const Tensor& input, int depth = 3);

}  // namespace aorta::nn
