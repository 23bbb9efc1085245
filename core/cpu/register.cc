#include <aorta/core/cpu/register.h>
#include <aorta/core/kernel_registry.h>

namespace aorta::cpu {

void register_kernels() {
  register_pointwise();
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
  register_sort();
  register_update();
  register_normalization();
  register_line_normalization();
  register_pooling();
  register_interpolate();
  register_loss();
  register_cross_entropy();
  register_dropout();
  register_views();
}

}  // namespace aorta::cpu
