#include <aorta/core/ops/view.h>

namespace aorta::cpu {

// One a file of CPU kernels: each fills its rows' CPU column. (linalg_register.cc has the rest.)
void register_attention();
void register_convolution();
void register_copy();
void register_cross_entropy();
void register_ctc_loss();
void register_dropout();
void register_fft();
void register_gamma_point();
void register_im2col();
void register_indexing();
void register_interpolate();
void register_line_normalization();
void register_loss();
void register_matmul();
void register_normalization();
void register_pointwise();
void register_pooling();
void register_random();
void register_rearrange();
void register_recurrent();
void register_reduction();
void register_scan();
void register_searchsorted();
void register_softmax();
void register_sort();
void register_update();

void register_kernels() {
  register_pointwise();
  register_attention();
  register_convolution();
  register_copy();
  register_matmul();
  register_random();
  register_recurrent();
  register_reduction();
  register_rearrange();
  register_indexing();
  register_softmax();
  register_scan();
  register_searchsorted();
  register_sort();
  register_update();
  register_normalization();
  register_line_normalization();
  register_pooling();
  register_interpolate();
  register_loss();
  register_cross_entropy();
  register_ctc_loss();
  register_dropout();
  register_fft();
  register_gamma_point();
  register_im2col();
  link_view_ops();  // which have no kernel
}

}  // namespace aorta::cpu
