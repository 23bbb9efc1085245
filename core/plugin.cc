#include <aorta/core/plugin.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace aorta::detail {

PluginEntry load_plugin(const std::string& library, const char* variable, const char* entry,
                        PluginNames names) {
  std::string path = library;
  if (const char* wish = std::getenv(variable); wish && *wish) {
    path = wish;
    if (path == "none") return {.problem = std::string(variable) + "=none switches it off"};
  } else {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&load_plugin), &info) && info.dli_fname) {
      const std::string self = info.dli_fname;
      const std::string beside = self.substr(0, self.rfind('/') + 1) + library;
      if (access(beside.c_str(), R_OK) == 0) path = beside;
    }
  }
  void* loaded =
      dlopen(path.c_str(), RTLD_NOW | (names == PluginNames::of_all ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!loaded) return {.problem = dlerror()};
  void* const function = dlsym(loaded, entry);
  if (!function) return {.problem = path + " has no " + entry};
  return {.function = function};
}

}  // namespace aorta::detail
