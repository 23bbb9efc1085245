#pragma once

namespace aorta::cuda {

// Ranges of a profiler as tools see them (Nsight Systems), by NVTX. Where no tool listens, a call
// costs some nanoseconds.

/// A range of this thread begins; ranges nest.
void begin_tool_range(const char* name);
/// The last one that began ends.
void end_tool_range();

}  // namespace aorta::cuda
