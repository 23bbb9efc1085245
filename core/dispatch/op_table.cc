#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/op_table.h>

#include <mutex>

namespace aorta::kernel {
namespace {

const OpRow* first = nullptr;
std::atomic<void (*)()> gradient_registration = nullptr;

std::mutex& table_mutex() {
  static std::mutex mutex;
  return mutex;
}

void register_cpu_once() {
  static std::once_flag once;
  std::call_once(once, cpu::register_kernels);
}

void register_gradients_once() {
  static std::once_flag once;
  void (*const registration)() = gradient_registration;
  if (registration) std::call_once(once, registration);
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

MissingKernel::MissingKernel(const char* op, DeviceType type)
    : Error(detail::located(std::string(op) + ": there must be a kernel for the device, got " +
                            to_string(Device(type)))),
      op_(op) {}

OpRow::Function OpRow::find_kernel_slowly(DeviceType type) const {
  register_cpu_once();
  if (type == DeviceType::meta)
    fail(name_, "what depends on values needs a tensor that has values", Device(type));
  if (type != DeviceType::cpu) backend(type);  // loads the plugin, which fills its column
  Function kernel = kernels_[static_cast<int>(type)].load(std::memory_order_acquire);
  if (!kernel) throw MissingKernel(name_, type);
  return kernel;
}

OpRow::Function OpRow::find_gradient_slowly() const {
  register_gradients_once();
  Function gradient = gradient_.load(std::memory_order_acquire);
  if (!gradient)
    fail(name_, "an op whose input requires a gradient must have a gradient entry", "none");
  return gradient;
}

bool OpRow::has_gradient() const {
  register_gradients_once();
  return gradient_.load() != nullptr;
}

void set_gradient_registration(void (*register_gradients)()) {
  gradient_registration = register_gradients;
}

}  // namespace aorta::kernel
