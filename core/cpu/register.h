#pragma once

namespace aorta::cpu {

// One a file of CPU kernels: each fills its rows' CPU column. register.cc calls them all.
void register_pointwise();
void register_normalization();
void register_line_normalization();
void register_pooling();
void register_interpolate();
void register_convolution();
void register_loss();
void register_cross_entropy();
void register_dropout();
void register_copy();
void register_matmul();
void register_random();
void register_recurrent();
void register_reduction();
void register_rearrange();
void register_indexing();
void register_softmax();
void register_scan();
void register_sort();
void register_update();
/// View ops have no kernel; this puts their rows into the table.
void register_views();

}  // namespace aorta::cpu
