#pragma once

#include <aorta/core/ops/loss.h>

// What the losses of this room that are composed of ops share.

namespace aorta::nn {

/// Throws unless both are floating and of one shape, and the reduction is one that they have.
void check_pair(const char* op, const Tensor& input, const Tensor& target, Reduction reduction);
/// Throws where the reduction is `batchmean`, which kl_div alone has.
void check_reduction(const char* op, Reduction reduction);
/// The losses themselves, their mean or their sum.
Tensor reduced(const Tensor& losses, Reduction reduction);

}  // namespace aorta::nn
