#pragma once

#include <aorta/core/body/indexing.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

// The whole iteration space of `args` in order, on the calling thread.
AORTA_EACH_ISA(
    /// values = table; `stream`: long rows are written past the cache.
    void gather_range(const body::IndexedArgs& args, bool stream);
    /// table = combine(mode, table, values).
    void scatter_range(const body::IndexedArgs& args, body::ScatterMode mode);
    /// True when one of `n` indices isn't in [lowest, size).
    bool any_outside(const int64_t* index, int64_t n, int64_t lowest, int64_t size);)

}  // namespace aorta::cpu
