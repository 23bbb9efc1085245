#include <aorta/core/check.h>
#include <aorta/core/dispatch/op_table.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace aorta::detail {

// The plugin is a shared library of its own, so that one program runs with and without a GPU. It is
// looked for at AORTA_CUDA_PLUGIN, then beside the file that holds this function, then as the
// loader does.
std::string load_cuda_plugin() {
  std::string path = "libaorta_cuda.so";
  if (const char* wish = std::getenv("AORTA_CUDA_PLUGIN"); wish && *wish) {
    path = wish;
    if (path == "none") return "AORTA_CUDA_PLUGIN=none switches it off";
  } else {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&load_cuda_plugin), &info) && info.dli_fname) {
      const std::string self = info.dli_fname;
      const std::string beside = self.substr(0, self.rfind('/') + 1) + path;
      if (access(beside.c_str(), R_OK) == 0) path = beside;
    }
  }
  // What it is linked with takes 0.1 s and 90 MB to load: a machine without a GPU is spared that.
  if (!dlopen("libcuda.so.1", RTLD_LAZY)) return "there is no NVIDIA driver on this machine";
  // The plugin names every row: this puts them into a program that is linked statically.
  kernel::first_op();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return dlerror();
  using Entry = const char* (*)();
  const Entry entry = reinterpret_cast<Entry>(dlsym(library, "aorta_register_cuda"));
  if (!entry) return path + " has no aorta_register_cuda";
  const char* problem = entry();
  return problem ? problem : "";
}

}  // namespace aorta::detail
