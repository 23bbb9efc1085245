#include <aorta/core/ops/sort.h>

#include <aorta/autograd/functions/pick.h>
#include <aorta/autograd/record.h>

namespace aorta::autograd {

void register_sort() {
  sort_op.set_gradient(pick_gradient);
  topk_op.set_gradient(pick_gradient);
}

}  // namespace aorta::autograd
