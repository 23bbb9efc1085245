#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/update.h>

namespace aorta::cpu {

/// Elements [first, end) of one tensor.
using UpdateFunction = void (*)(const UpdateTensor& tensor, const UpdateNumbers<double>& numbers,
                                int64_t first, int64_t end);

AORTA_EACH_ISA(UpdateFunction update_function(UpdateRule rule, DType dtype);)

}  // namespace aorta::cpu
