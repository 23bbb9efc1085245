#pragma once

#include <string>
#include <vector>

namespace aorta::emulated {

/// Says that a rule of CUDA was broken: "call: rule, got values [page]". Ends the program, unless a
/// `Collector` is there to take it. `page` says where NVIDIA writes the rule down.
void report(const std::string& call, const std::string& rule, const std::string& got,
            const char* page);

/// Where NVIDIA writes down how a kernel's accesses are aligned.
inline constexpr const char* kAlignmentPage =
    "docs.nvidia.com/cuda/cuda-c-programming-guide, Device Memory Accesses: Size and Alignment";

/// While one lives, broken rules are collected instead: the call returns its error code, and a
/// kernel is given up. For tests of the double itself.
class Collector {
 public:
  Collector();
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  /// What was reported since the last call.
  std::vector<std::string> take();
};

/// The name of the function at an address, and with debug information the line.
std::string name_of_code(const void* address);

}  // namespace aorta::emulated
