#pragma once

#include <aorta/core/check.h>
#include <aorta/core/device.h>
#include <aorta/core/grad_mode.h>

#include <atomic>

// An op has two faces. What users call stands in `aorta`; what ops, their kernels and their
// gradient entries need of each other (arguments, types, rows) in `aorta::kernel`. Each room that
// fills a column of the table sees it by one using-directive; `aorta` itself has none in a header.
namespace aorta::kernel {

/// A kernel on the meta device: nothing is computed, and nothing bad is found among values. There
/// is none where what it returns depends on values.
template <class Kernel>
struct MetaKernel {
  static constexpr bool exists = false;
};
template <class... Args>
struct MetaKernel<void (*)(Args...)> {
  static constexpr bool exists = true;
  static void run(Args...) {}
};
/// The first bad value's place, or -1.
template <class... Args>
struct MetaKernel<int64_t (*)(Args...)> {
  static constexpr bool exists = true;
  static int64_t run(Args...) { return -1; }
};

/// That a row has no kernel on a device: "op: there must be a kernel for the device, got device".
/// It names the row itself, not the function that was called.
class MissingKernel : public Error {
 public:
  MissingKernel(const char* op, DeviceType type);
  const char* op() const { return op_; }

 private:
  const char* op_;
};

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
  template <class Kernel>
  Kernel kernel_on(Device device) const {
    if constexpr (MetaKernel<Kernel>::exists) {
      if (device.is_meta()) [[unlikely]]
        return MetaKernel<Kernel>::run;
    }
    return reinterpret_cast<Kernel>(find_kernel(device.type));
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

  Kernel kernel(Device device) const { return kernel_on<Kernel>(device); }
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
/// An op has no gradient entry where its results have no gradient, or where it is a backward pass,
/// which records itself as the ops that it is composed of.
using NoGradient = void (*)();

/// The first row of the table of all ops, with the CPU's column filled.
const OpRow* first_op();

/// Who fills the gradient column, called once before the first gradient entry is asked for.
void set_gradient_registration(void (*register_gradients)());

}  // namespace aorta::kernel

namespace aorta::cpu {

using namespace kernel;

/// Fills the table's CPU column; done by itself before the first op.
void register_kernels();

}  // namespace aorta::cpu
