#pragma once

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>

namespace aorta::cuda {

/// What a profiler says of the host while it waits for a device: who waits, the function that was
/// called, or else `op`.
class WaitRange {
 public:
  explicit WaitRange(const char* op) : range_(called_op() ? called_op() : op, {}, " waits") {}

 private:
  ProfilerRange range_;
};

}  // namespace aorta::cuda
