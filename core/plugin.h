#pragma once

#include <string>

namespace aorta::detail {

/// A function of a shared library that one program runs with and without; where it can't be had,
/// why.
struct PluginEntry {
  void* function = nullptr;
  std::string problem = {};
};

/// Whether the library's names are those of all that is loaded after it.
enum class PluginNames { its_own, of_all };

/// The function `entry` of the plugin `library` ("libaorta_opencv.so"), which is looked for where
/// the environment's `variable` says ("none" switches it off), then beside the file that holds this
/// function, then as the loader does.
PluginEntry load_plugin(const std::string& library, const char* variable, const char* entry,
                        PluginNames names = PluginNames::its_own);

}  // namespace aorta::detail
