#pragma once

// The pointwise functors over arrays, compiled for each instruction set as the kernels are.

#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// out[i] = op(inputs[0][i], inputs[1][i], ...) for the op of that name in core/scalar/op_list.h,
/// with the parameters of make_op() in evaluate.cc; truth values become 0 and 1. False when there
/// is no such op.
AORTA_EACH_ISA(bool evaluate(const char* name, const float* const* inputs, float* out, int64_t n);
               bool evaluate(const char* name, const double* const* inputs, double* out,
                             int64_t n);)

}  // namespace aorta::cpu
