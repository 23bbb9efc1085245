#pragma once

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/op_table.h>

namespace aorta::cuda {

using namespace kernel;  // the rows whose column this room fills, and what their kernels get

/// `run` for the row of `op`: while it runs, an error of this thread is the op's. Whichever call of
/// the runtime or of a library fails in it, for itself, a workspace or a copy, the line begins with
/// the op's name.
template <auto& op, auto run, class Result, class... Args>
auto named_kernel(Result (*)(Args...)) -> Result (*)(Args...) {
  return [](Args... args) -> Result {
    const CalledOp called(op.name());
    return run(args...);
  };
}

/// Fills the row's column. Every kernel of this room comes into the table here.
template <auto& op, auto run>
void set_kernel() {
  op.set_kernel(DeviceType::cuda, named_kernel<op, run>(run));
}

}  // namespace aorta::cuda
