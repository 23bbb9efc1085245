#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/dropout.h>

namespace aorta::cpu {

AORTA_EACH_ISA(
    /// Blocks [first, end) of four elements.
    void dropout_blocks(const DropoutArgs& args, int64_t first, int64_t end);)

}  // namespace aorta::cpu
