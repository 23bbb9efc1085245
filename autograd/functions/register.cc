#include <aorta/autograd/history.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/op_table.h>

namespace aorta::autograd {

// One a file of this folder: each fills its rows' gradient column.
void register_advanced_indexing();
void register_attention();
void register_convolution();
void register_copy();
void register_cross_entropy();
void register_ctc_loss();
void register_dropout();
void register_embedding();
void register_fft();
void register_im2col();
void register_indexing();
void register_interpolate();
void register_join();
void register_linalg();
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

namespace {

void register_gradients() {
  kernel::in_place_hook.set_gradient(check_in_place);
  kernel::keep_hook.set_gradient(keep_before_write);
  register_advanced_indexing();
  register_convolution();
  register_attention();
  register_copy();
  register_cross_entropy();
  register_ctc_loss();
  register_dropout();
  register_embedding();
  register_fft();
  register_im2col();
  register_indexing();
  register_interpolate();
  register_join();
  register_linalg();
  register_loss();
  register_matmul();
  register_normalization();
  register_pointwise();
  register_pooling();
  register_rearrange();
  register_recurrent();
  register_reduction();
  register_scan();
  register_softmax();
  register_sort();
  register_view();
}

// Core finds the gradients without knowing this room; the library is linked whole (BUILD).
[[maybe_unused]] const bool announced =
    (kernel::set_gradient_registration(register_gradients), true);

}  // namespace
}  // namespace aorta::autograd
