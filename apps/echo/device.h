#pragma once

#include <aorta/core/device.h>

#include <string>
#include <vector>

namespace aorta::echo {

/// What `--device` names: "auto" is a GPU where there is one, else the CPU. Throws Failure: usage
/// for what is no device's name, environment for one that isn't there.
Device choose_device(const std::string& name);
/// What `--devices` names: "cuda:0,cuda:1", each by its number. Throws as choose_device does.
std::vector<Device> choose_devices(const std::string& list);

}  // namespace aorta::echo
