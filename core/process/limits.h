#pragma once

#include <cstdint>
#include <string>

// What this process may use of the machine: its control groups (versions 1 and 2) may grant less
// than is there. `root` is the folder where /proc and /sys are found.

namespace aorta {

/// Bytes that may still be taken without swapping: the least of the machine's MemAvailable and of
/// what the control groups' limits leave, file pages that can be dropped not counted as used.
int64_t available_memory_bytes(const std::string& root = "/");

/// The CPU's name, as the system tells it; "unknown model" where it doesn't.
std::string cpu_name();

/// CPUs' worth of time: the CPUs that the process may run on, or a quota where that is less,
/// rounded up; at least 1.
int available_cpus(const std::string& root = "/");

/// How many processes of this control group the kernel has killed for want of memory.
int64_t out_of_memory_kills(const std::string& root = "/");

}  // namespace aorta
