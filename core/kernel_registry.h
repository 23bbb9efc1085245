#pragma once

#include <aorta/core/device.h>
#include <aorta/core/tensor.h>

#include <atomic>

namespace aorta {

/// One row of the op table: a name, a kernel for each device type and a gradient entry. Rows are
/// constant-initialised globals; `core/cpu`, `cuda` and `autograd` fill their column in explicit
/// `register_*()` functions, so that an op is one function for every device and core names no room
/// above or beside it.
class OpRow {
 public:
  using Function = void (*)();

  constexpr explicit OpRow(const char* op_name) : name_(op_name) {}
  OpRow(const OpRow&) = delete;
  OpRow& operator=(const OpRow&) = delete;

  const char* name() const { return name_; }
  bool has_kernel(DeviceType type) const {
    return kernels_[static_cast<int>(type)].load() != nullptr;
  }
  bool has_gradient() const;
  /// The next row of the table; begin with `first_op()`.
  const OpRow* next() const { return next_; }
  /// Puts the row into the table, once; setting a kernel or a gradient does so too.
  void link();

 protected:
  Function find_kernel(DeviceType type) const {
    Function kernel = kernels_[static_cast<int>(type)].load(std::memory_order_acquire);
    return kernel ? kernel : find_kernel_slowly(type);
  }
  Function find_gradient() const {
    Function gradient = gradient_.load(std::memory_order_acquire);
    return gradient ? gradient : find_gradient_slowly();
  }
  void set_kernel_function(DeviceType type, Function kernel) {
    kernels_[static_cast<int>(type)].store(kernel, std::memory_order_release);
    link();
  }
  void set_gradient_function(Function gradient) {
    gradient_.store(gradient, std::memory_order_release);
    link();
  }

 private:
  Function find_kernel_slowly(DeviceType type) const;
  Function find_gradient_slowly() const;

  const char* name_;
  std::atomic<Function> kernels_[kDeviceTypeCount] = {};
  std::atomic<Function> gradient_ = nullptr;
  const OpRow* next_ = nullptr;
  bool linked_ = false;
};

/// A row with the types of its kernel and of its gradient entry. The gradient entry gets the
/// outputs, then the inputs and parameters of the op, after the forward kernel has run.
template <class Kernel, class Gradient>
class Op : public OpRow {
 public:
  constexpr explicit Op(const char* op_name) : OpRow(op_name) {}

  Kernel kernel(Device device) const { return reinterpret_cast<Kernel>(find_kernel(device.type)); }
  Gradient gradient() const { return reinterpret_cast<Gradient>(find_gradient()); }
  void set_kernel(DeviceType type, Kernel kernel) {
    set_kernel_function(type, reinterpret_cast<Function>(kernel));
  }
  void set_gradient(Gradient gradient) {
    set_gradient_function(reinterpret_cast<Function>(gradient));
  }
};

/// A view op runs no kernel; it has a row for its gradient.
using NoKernel = void (*)();

/// The first row of the table of all ops, with the CPU's column filled.
const OpRow* first_op();

/// Who fills the gradient column, called once before the first gradient entry is asked for.
void set_gradient_registration(void (*register_gradients)());

/// What this thread does about gradients; autograd's scopes switch it.
struct GradMode {
  bool enabled = true;     // ops on tensors that require a gradient record it
  bool inference = false;  // new tensors can never take part in a graph
};
GradMode grad_mode();
void set_grad_mode(GradMode mode);
inline bool grad_enabled() { return grad_mode().enabled; }

/// True when an op on these tensors has to record a gradient.
template <class... Tensors>
inline bool needs_gradient(const Tensors&... inputs) {
  return ((inputs.defined() && inputs.requires_grad()) || ...) && grad_enabled();
}

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

namespace cpu {
/// Fills the table's CPU column; done by itself before the first op.
void register_kernels();
}  // namespace cpu

}  // namespace aorta
