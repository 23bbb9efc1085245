#pragma once

#include <aorta/core/check.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace aorta {

/// The kinds of devices that a tensor may live on.
enum class DeviceType : uint8_t { cpu, cuda, meta };
/// How many kinds there are.
inline constexpr int kDeviceTypeCount = 3;

/// Where a tensor lives: "cpu", a logical CPU device "cpu:1" (own tensors, same memory and cores:
/// what splits over devices is tested on it), "cuda:0", or "meta". "cuda" or
/// `DeviceType::cuda` alone is the current CUDA device. A tensor on "meta" has a shape, a dtype and
/// a layout and neither memory nor values: every op, backward pass and optimizer says what it would
/// make, so that a step is planned without being run. What depends on values is refused.
struct Device {
  DeviceType type = DeviceType::cpu;
  int16_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType device_type, int device_index)
      : type(device_type), index(static_cast<int16_t>(device_index)) {}
  Device(DeviceType device_type);
  template <std::convertible_to<std::string_view> Name>  // one that names in braces can't be
  Device(const Name& name) : Device(named(name)) {}

  constexpr bool is_cpu() const { return type == DeviceType::cpu; }
  constexpr bool is_cuda() const { return type == DeviceType::cuda; }
  constexpr bool is_meta() const { return type == DeviceType::meta; }
  constexpr bool operator==(const Device& other) const = default;

 private:
  static Device named(std::string_view name);
};

/// "cpu", "cpu:1", "cuda:0", "meta".
std::string to_string(Device device);

/// The number of devices of a type. The CPU has `kLogicalCpus` logical ones.
int device_count(DeviceType type);
inline constexpr int kLogicalCpus = 64;

/// The device of `type` that new tensors of this thread go to when no index is given.
Device current_device(DeviceType type);

/// Waits until everything that was queued on `device` is done. Throws what ops of the device have
/// found out of range since the last wait: "embedding: values must be in range, got ...".
void synchronize(Device device);

/// Makes `device` its type's current one in this thread while the guard lives.
class DeviceGuard {
 public:
  [[nodiscard]] explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device previous_;
};

namespace cuda {
/// True when the CUDA plugin, a driver and at least one GPU are there. Never throws.
bool is_available();
/// The number of GPUs; 0 without a driver or a plugin.
int device_count();
/// Why `is_available()` is false, in one line; empty when it is true.
std::string unavailable_reason();
}  // namespace cuda

}  // namespace aorta
