#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/random.h>

#include <algorithm>
#include <cstdio>

namespace aorta::echo {
namespace {

void check_is_there(const std::string& given, Device device) {
  if (!device.is_cuda()) return;
  if (!cuda::is_available())
    throw Failure(ExitCode::environment, given + ": " + cuda::unavailable_reason() +
                                             "; `aorta-echo doctor` says more, --device cpu "
                                             "trains without");
  if (device.index >= device_count(DeviceType::cuda))
    throw Failure(ExitCode::environment, given + ": GPUs are counted from 0, and there are " +
                                             std::to_string(device_count(DeviceType::cuda)));
}

bool has_all_kernels(DeviceType type) {
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next())
    if (op->has_kernel(DeviceType::cpu) && !op->has_kernel(type)) return false;
  return true;
}

/// The first op of `work` that the GPU has no kernel of; empty where it has all.
std::string missing_op(const std::function<void(Device)>& work) {
  if (has_all_kernels(DeviceType::cuda)) return "";
  const GeneratorState before = default_generator().state();
  std::string missing;
  try {
    work("cuda");
  } catch (const kernel::MissingKernel& error) {
    missing = error.op();
  }
  default_generator().restore(before);
  return missing;
}

Device device_for(const std::function<void(Device)>& work) {
  if (!cuda::is_available()) return Device();
  const std::string missing = missing_op(work);
  if (missing.empty()) return Device("cuda");
  static bool said = false;  // a command may ask more than once
  if (!said && is_first_rank())
    std::fprintf(stderr,
                 "warning: --device auto: the CPU computes, for the GPU has no kernel of %s\n",
                 missing.c_str());
  said = true;
  return Device();
}

}  // namespace

Device choose_device(const std::string& name, const std::function<void(Device)>& work) {
  if (name == "auto") return device_for(work);
  Device device;
  try {
    device = Device(name);
  } catch (const Error&) {
    throw Failure(ExitCode::usage,
                  "--device: must be auto, cpu, cuda or the number of a GPU as in "
                  "cuda:0, got " +
                      io::quote(name));
  }
  check_is_there("--device " + name, device);
  return device;
}

std::vector<Device> choose_devices(const std::string& list) {
  std::vector<Device> devices;
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    const std::string name = list.substr(start, end - start);
    start = end + 1;
    try {
      check(name.find(':') != name.npos, "device", "must have a number", name);
      devices.push_back(Device(name));
    } catch (const Error&) {
      throw Failure(ExitCode::usage,
                    "--devices: must be devices by their numbers, as cuda:0,cuda:1 or cpu:0,cpu:1, "
                    "got " +
                        io::quote(list));
    }
    check_is_there("--devices " + list, devices.back());
    if (devices.back().type != devices[0].type)
      throw Failure(ExitCode::usage,
                    "--devices: must be all GPUs or all the CPU's, got " + io::quote(list));
  }
  return devices;
}

std::optional<Device> loader_device(Device device) {
  return device.is_cuda() ? std::optional(device) : std::nullopt;
}

Tensor on_device(const std::vector<float>& values, Device device) {
  const Tensor here = tensor(values);
  return device.is_cuda() ? here.pin_memory().to(device, true) : here;
}

}  // namespace aorta::echo
