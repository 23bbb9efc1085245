#include <aorta/core/ops/update.h>

namespace aorta::kernel {

constinit Op<UpdateKernel, NoGradient> update_op{"update"};

}  // namespace aorta::kernel
