#pragma once

#include <aorta/core/body/pooling.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// Rows [first, end) of the output, a row being (outer, depth, height). `scratch` holds a row of
/// the output in the dtype that is computed in; used for half types by the backward alone.
using PoolRowsFunction = void (*)(const body::PoolArgs& args, int64_t first, int64_t end,
                                  void* scratch);

/// An instruction set's loops.
struct PoolLoops {
  PoolRowsFunction (*max)(DType dtype, bool indices);
  PoolRowsFunction (*average)(DType dtype);
  PoolRowsFunction (*average_backward)(DType dtype);
};
AORTA_ISA_TABLE(PoolLoops, pool_loops)

}  // namespace aorta::cpu
