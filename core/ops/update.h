#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/scalar/update.h>

#include <span>

namespace aorta::kernel {

/// One tensor of an update: `count` elements of each, one after another and in the same order.
struct UpdateTensor {
  void* parameter;
  const void* gradient;  // null where the rule reads none
  void* states[kMaxUpdateStates];
  int64_t count;
  int64_t first;    // sum of the counts of the tensors before it
  int64_t numbers;  // which of UpdateArgs::numbers
};

/// A step of all tensors of one dtype on one device. States are f64 for f64, else f32, and so is
/// the arithmetic; tensors don't overlap, but a gradient may be the parameter itself.
struct UpdateArgs {
  UpdateRule rule;
  DType dtype;  // of parameters and gradients
  std::span<const UpdateTensor> tensors;
  std::span<const UpdateNumbers<double>> numbers;
  // Where they are on the device instead: of a captured step, or computed there.
  const UpdateNumbers<double>* live = nullptr;
  // On the device, or null: where it is NaN or infinite, nothing changes.
  const double* must_be_finite = nullptr;
  int64_t count() const {
    return tensors.empty() ? 0 : tensors.back().first + tensors.back().count;
  }
};

/// The row of the fused optimizer step. It has no gradient: steps are taken outside the graph.
using UpdateKernel = void (*)(const UpdateArgs& args);
extern Op<UpdateKernel, NoGradient> update_op;
/// Runs the device's kernel, as a range of the profiler.
void run_update(Device device, const UpdateArgs& args);

}  // namespace aorta::kernel
