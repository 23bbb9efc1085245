#pragma once

#include <aorta/core/body/indexing.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

// Both ranges go over the whole iteration space of `args` in order, on the calling thread:
// gather_range does values = table (with `stream` it writes long rows past the cache),
// scatter_range table = combine(mode, table, values). any_outside says whether one of `n` indices
// isn't in [lowest, size).
AORTA_EACH_ISA(void gather_range(const body::IndexedArgs& args, bool stream);
               void scatter_range(const body::IndexedArgs& args, body::ScatterMode mode);
               bool any_outside(const int64_t* index, int64_t n, int64_t lowest, int64_t size);)

}  // namespace aorta::cpu
