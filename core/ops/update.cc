#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/update.h>

namespace aorta::kernel {

constinit Op<UpdateKernel, NoGradient> update_op{"update"};

void run_update(Device device, const UpdateArgs& args) {
  const CalledOp called(update_op.name());
  const ProfilerRange range(update_op.name());
  if (range.is_open()) {
    const int64_t item = item_size(args.dtype), state_item = args.dtype == DType::f64 ? 8 : 4;
    int64_t bytes = 0;
    for (const UpdateTensor& tensor : args.tensors) {
      bytes += tensor.count * item * (tensor.gradient ? 3 : 2);
      for (const void* state : tensor.states) bytes += state ? 2 * tensor.count * state_item : 0;
    }
    range.count(0, bytes);
  }
  update_op.kernel(device)(args);
}

}  // namespace aorta::kernel
