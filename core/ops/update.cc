#include <aorta/core/ops/update.h>

namespace aorta {

constinit Op<UpdateKernel, void (*)()> update_op{"update"};

}  // namespace aorta
