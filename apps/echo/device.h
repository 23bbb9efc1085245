#pragma once

#include <aorta/core/device.h>
#include <aorta/core/tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace aorta::echo {

/// What `--device` names: "auto" is a GPU where there is one that has the kernels of all ops that
/// `work` runs, else the CPU, and stderr says which op it lacks. `work` is what is to be done, on a
/// small scale on the device that it is given: it is called where the GPU lacks anything at all.
/// The default generator is then as before. Throws Failure: usage for what is no device's name,
/// environment for one that isn't there.
Device choose_device(const std::string& name, const std::function<void(Device)>& work);
/// The side of frames that `work` tries, in pixels.
inline constexpr int64_t kTriedSide = 32;
/// What `--devices` names: "cuda:0,cuda:1", each by its number. Throws as choose_device does.
std::vector<Device> choose_devices(const std::string& list);

/// Where a loader takes its batches for a network on `device`; nothing for one on the CPU, which
/// reads them where they lie.
std::optional<Device> loader_device(Device device);
/// f32 (N) on a device. A GPU copies them in the order of the present stream, which nobody waits
/// for.
Tensor on_device(const std::vector<float>& values, Device device);

}  // namespace aorta::echo
