#pragma once

#include <aorta/core/body/indexing.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// An instruction set's loops. The first two go over the whole iteration space of `args` in order,
/// on the calling thread: `gather` does values = table (with `stream` it writes long rows past the
/// cache), `scatter` table = combine(mode, table, values). `any_outside` says whether one of `n`
/// indices isn't in [lowest, size).
struct IndexLoops {
  void (*gather)(const body::IndexedArgs& args, bool stream);
  void (*scatter)(const body::IndexedArgs& args, body::ScatterMode mode);
  bool (*any_outside)(const int64_t* index, int64_t n, int64_t lowest, int64_t size);
};
AORTA_ISA_TABLE(IndexLoops, index_loops)

}  // namespace aorta::cpu
