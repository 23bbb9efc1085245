#include <aorta/data/video/plugin.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace aorta::data {

std::string find_plugin(const std::string& library, const char* variable, const char* entry,
                        void*& function) {
  std::string path = library;
  if (const char* wish = std::getenv(variable); wish && *wish) {
    path = wish;
    if (path == "none") return std::string(variable) + "=none switches it off";
  } else {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&find_plugin), &info) && info.dli_fname) {
      const std::string self = info.dli_fname;
      const std::string beside = self.substr(0, self.rfind('/') + 1) + library;
      if (access(beside.c_str(), R_OK) == 0) path = beside;
    }
  }
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) return dlerror();
  function = dlsym(loaded, entry);
  return function ? "" : path + " has no " + entry;
}

}  // namespace aorta::data
