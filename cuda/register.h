#pragma once

namespace aorta::cuda {

// One a file of kernels: each fills its rows' CUDA column. register.cc calls them all.
void register_copy();
void register_random();
void register_matmul();
void register_indexing();
void register_rearrange();
void register_reduction();
void register_softmax();
void register_scan();
void register_update();

}  // namespace aorta::cuda
