#include <aorta/core/device_backend.h>
#include <aorta/core/kernel_registry.h>

#include <mutex>

namespace aorta {
namespace {

const OpRow* first = nullptr;
thread_local constinit bool recording = true;

std::mutex& table_mutex() {
  static std::mutex mutex;
  return mutex;
}

void register_cpu_once() {
  static std::once_flag once;
  std::call_once(once, cpu::register_kernels);
}

}  // namespace

void OpRow::link() {
  std::lock_guard lock(table_mutex());
  if (linked_) return;
  linked_ = true;
  next_ = first;
  first = this;
}

const OpRow* first_op() {
  register_cpu_once();
  return first;
}

OpRow::Function OpRow::find_kernel_slowly(DeviceType type) const {
  register_cpu_once();
  if (type != DeviceType::cpu) backend(type);  // loads the plugin, which fills its column
  Function kernel = kernels_[static_cast<int>(type)].load(std::memory_order_acquire);
  if (!kernel) fail(name_, "there must be a kernel for the device", Device(type));
  return kernel;
}

void OpRow::missing_gradient() const {
  fail(name_, "an input requires a gradient, but the op has no gradient entry");
}

bool grad_enabled() { return recording; }
void set_grad_enabled(bool enabled) { recording = enabled; }

}  // namespace aorta
