#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/dropout.h>

namespace aorta::cpu {

// It drops from the blocks [first, end), of four elements each.
AORTA_EACH_ISA(void dropout_blocks(const DropoutArgs& args, int64_t first, int64_t end);)

}  // namespace aorta::cpu
