#pragma once

#include <aorta/core/tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace aorta::autograd {

/// The graph behind `loss` in Graphviz's language, from the leaves down to the loss: a box an op,
/// with the shape of its result and the module that ran it, and one a leaf, with its name where
/// `named_parameters` has it. `tools/graph_svg.sh` draws it.
std::string to_dot(const Tensor& loss,
                   const List<std::pair<std::string, Tensor>>& named_parameters = {});

}  // namespace aorta::autograd
