#pragma once

#include <aorta/core/dispatch/op_table.h>

// What a write in place has to do for the graph.
namespace aorta::kernel {

/// Called before a write in place that will be recorded: throws when `self` is a leaf that requires
/// a gradient or can't be written for another reason of the graph's.
void check_in_place(const char* op, const Tensor& self);
/// Whether a write into `self` in place has to be recorded, checked: that is so where `wanted` says
/// that an operand, `self` among them, needs a gradient. A view that needs none, for it was made
/// without recording, may lie in a tensor that does: written unrecorded, that one's gradient would
/// be wrong.
inline bool records_write(const char* op, const Tensor& self, bool wanted) {
  const TensorImpl& impl = self.impl();
  if (wanted || (impl.base && impl.base->requires_grad && grad_enabled())) check_in_place(op, self);
  return wanted;
}
/// A copy of self's elements at its place in the graph, for a gradient that needs what a write in
/// place is about to overwrite.
Tensor keep_before_write(const Tensor& self);

/// The table's entries by which autograd answers check_in_place and keep_before_write. They are no
/// ops: they have no kernel, and no function of theirs is recorded.
extern Op<NoKernel, void (*)(const char* op, const Tensor& self)> in_place_hook;
extern Op<NoKernel, Tensor (*)(const Tensor& self)> keep_hook;

}  // namespace aorta::kernel
