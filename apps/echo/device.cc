#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/core/io/bytes.h>

#include <algorithm>

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

}  // namespace

Device choose_device(const std::string& name) {
  if (name == "auto") return cuda::is_available() ? Device("cuda") : Device();
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

}  // namespace aorta::echo
