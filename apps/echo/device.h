#pragma once

#include <aorta/core/device.h>
#include <aorta/core/dispatch/op_table.h>

#include <span>
#include <string>
#include <vector>

namespace aorta::echo {

/// Ops of the networks and their loss, forward and backward, that a device may lack a kernel of.
/// What is left out, pointwise ops, copies and sums, is what every device has first.
std::span<const kernel::OpRow* const> ops_of_networks();

/// What `--device` names: "auto" is a GPU that has a kernel of each of ops_of_networks(), else the
/// CPU. Throws Failure: usage for what is no device's name, environment for one that isn't there.
Device choose_device(const std::string& name);
/// What `--devices` names: "cuda:0,cuda:1", each by its number. Throws as choose_device does.
std::vector<Device> choose_devices(const std::string& list);
/// Why `--device auto` is the CPU though there is a GPU, in a line; empty where it needs no word.
std::string device_note(const std::string& name);

}  // namespace aorta::echo
