#include <aorta/autograd/functions/register.h>
#include <aorta/autograd/history.h>
#include <aorta/core/kernel_registry.h>

namespace aorta::autograd {
namespace {

void register_gradients() {
  in_place_hook.set_gradient(check_in_place);
  keep_hook.set_gradient(keep_before_write);
  register_advanced_indexing();
  register_convolution();
  register_attention();
  register_copy();
  register_cross_entropy();
  register_dropout();
  register_embedding();
  register_indexing();
  register_interpolate();
  register_join();
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
[[maybe_unused]] const bool announced = (set_gradient_registration(register_gradients), true);

}  // namespace
}  // namespace aorta::autograd
