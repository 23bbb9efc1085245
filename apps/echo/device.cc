#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pooling.h>

#include <algorithm>

namespace aorta::echo {
namespace {

/// The first op that a network needs and the GPUs have no kernel of; null where there is none.
const kernel::OpRow* missing_on_gpus() {
  const auto ops = ops_of_networks();
  const auto missing = std::find_if(ops.begin(), ops.end(), [](const kernel::OpRow* op) {
    return !op->has_kernel(DeviceType::cuda);
  });
  return missing == ops.end() ? nullptr : *missing;
}

}  // namespace

std::span<const kernel::OpRow* const> ops_of_networks() {
  static const kernel::OpRow* const ops[] = {
      // A convolution's gradients: of its input (a transposed one), and of its weight.
      &kernel::convolution_op,
      &kernel::convolution_transpose_op,
      &kernel::convolution_weight_op,
      &kernel::batch_norm_op,
      &kernel::channel_norm_backward_op,
      &kernel::max_pool_op,
      &kernel::max_pool_backward_op,
      &kernel::avg_pool_op,
      &kernel::avg_pool_backward_op,
      // The heads of torchvision's networks, and the U-Net's way up.
      &kernel::interpolate_op,
      &kernel::dropout_op,
      // Binary cross-entropy.
      &kernel::pointwise_loss_op,
      &kernel::pointwise_loss_backward_op,
  };
  return ops;
}

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

}  // namespace

Device choose_device(const std::string& name) {
  if (name == "auto") return cuda::is_available() && !missing_on_gpus() ? Device("cuda") : Device();
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

std::string device_note(const std::string& name) {
  if (name != "auto" || !cuda::is_available()) return "";
  const kernel::OpRow* const missing = missing_on_gpus();
  if (!missing) return "";
  return "--device auto: the CPU, for " + to_string(Device("cuda:0")) + " has no kernel of " +
         missing->name() + " yet";
}

}  // namespace aorta::echo
