#pragma once

#include <string>
#include <vector>

namespace aorta::emulated {

/// The ranges that this thread has told tools (NVTX) of since the last call: "name" where one
/// begins and "end" where one ends.
std::vector<std::string> take_tool_ranges();

}  // namespace aorta::emulated
