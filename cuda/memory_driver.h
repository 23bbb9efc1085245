#pragma once

#include <aorta/cuda/allocator.h>

namespace aorta::cuda {

/// cudaMalloc and friends for one GPU.
MemoryDriver device_memory_driver(int device);

/// Page-locked host memory that every GPU can use.
MemoryDriver pinned_driver();

}  // namespace aorta::cuda
