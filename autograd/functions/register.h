#pragma once

namespace aorta::autograd {

// Fill the gradient column of the op table; register.cc calls each.
void register_advanced_indexing();
void register_convolution();
void register_attention();
void register_copy();
void register_cross_entropy();
void register_dropout();
void register_embedding();
void register_indexing();
void register_interpolate();
void register_join();
void register_loss();
void register_matmul();
void register_normalization();
void register_pointwise();
void register_pooling();
void register_rearrange();
void register_recurrent();
void register_reduction();
void register_scan();
void register_softmax();
void register_sort();
void register_view();

}  // namespace aorta::autograd
