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
  if (device.is_cuda() && !cuda::is_available())
    throw Failure(ExitCode::environment, "--device " + name + ": " + cuda::unavailable_reason() +
                                             "; `aorta-echo doctor` says more, --device cpu "
                                             "trains without");
  if (device.is_cuda() && device.index >= device_count(DeviceType::cuda))
    throw Failure(ExitCode::environment, "--device " + name +
                                             ": GPUs are counted from 0, and there are " +
                                             std::to_string(device_count(DeviceType::cuda)));
  return device;
}

std::string device_note(const std::string& name) {
  if (name != "auto" || !cuda::is_available()) return "";
  const kernel::OpRow* const missing = missing_on_gpus();
  if (!missing) return "";
  return "--device auto: the CPU, for " + to_string(Device("cuda:0")) + " has no kernel of " +
         missing->name() + " yet";
}

}  // namespace aorta::echo
