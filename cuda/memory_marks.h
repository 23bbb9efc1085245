#pragma once

#include <cstdint>

namespace aorta::cuda {

// What tools are told of memory that the allocator takes as a whole and gives out in pieces, by
// NVTX's memory API: to compute-sanitizer a kernel that touches what is nobody's is an error then.
// (docs.nvidia.com/compute-sanitizer/SanitizerNvtxGuide, "Suballocation API".) Where no tool
// listens, nothing is kept and a call costs some nanoseconds.

/// From now on `bytes` at `data` are given out in pieces; what isn't is nobody's.
void mark_heap(const void* data, int64_t bytes);
/// Takes that back; the bytes, or 0 where no tool listens.
int64_t unmark_heap(const void* data);

/// `bytes` at `data`, in the heap that begins at `heap`, are somebody's, and nothing is written
/// yet.
void mark_lent(const void* heap, const void* data, int64_t bytes);
/// The piece at `data` is nobody's.
void mark_returned(const void* heap, const void* data);

}  // namespace aorta::cuda
