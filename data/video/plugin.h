#pragma once

#include <string>

namespace aorta::data {

/// The function `entry` of the plugin `library` ("libaorta_opencv.so"), which is looked for where
/// the environment's `variable` says ("none" switches it off), then beside the file that holds this
/// function, then as the loader does. Returns the problem where it can't be had, else "".
std::string find_plugin(const std::string& library, const char* variable, const char* entry,
                        void*& function);

}  // namespace aorta::data
