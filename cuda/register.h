#pragma once

namespace aorta::cuda {

// One a file of kernels: each fills its rows' CUDA column. register.cc calls them all.
void register_copy();
void register_random();

}  // namespace aorta::cuda
