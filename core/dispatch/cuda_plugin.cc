#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/plugin.h>

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

namespace aorta::detail {

std::string load_cuda_plugin() {
  constexpr const char* kVariable = "AORTA_CUDA_PLUGIN";
  const char* wish = std::getenv(kVariable);
  // What it is linked with takes 0.1 s and 90 MB to load: a machine without a GPU is spared that.
  if ((!wish || wish != std::string_view("none")) && !dlopen("libcuda.so.1", RTLD_LAZY))
    return "there is no NVIDIA driver on this machine";
  // The plugin names every row: this puts them into a program that is linked statically.
  kernel::first_op();
  const PluginEntry plugin =
      load_plugin("libaorta_cuda.so", kVariable, "aorta_register_cuda", PluginNames::of_all);
  if (!plugin.function) return plugin.problem;
  const char* problem = reinterpret_cast<const char* (*)()>(plugin.function)();
  return problem ? problem : "";
}

}  // namespace aorta::detail
