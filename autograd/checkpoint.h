#pragma once

#include <aorta/core/tensor.h>

#include <functional>

namespace aorta::autograd {

/// `function()` whose inner results are not kept for its gradients but computed again when the
/// backward pass needs the first of them: memory for one more forward of this part. The second run
/// draws the same random numbers (of the default generators) and sees the same autocast state; a
/// function that computes something else then is an error. Works with grad(), with create_graph,
/// and nested.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>()> function);
Tensor checkpoint(std::function<Tensor(const Tensor& input)> function, const Tensor& input);

}  // namespace aorta::autograd
