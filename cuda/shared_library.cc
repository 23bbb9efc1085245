#include <aorta/cuda/shared_library.h>

#include <dlfcn.h>

namespace aorta::cuda {

SharedLibrary::SharedLibrary(const char* file, const char* symbol)
    : file_(file), scope_(RTLD_DEFAULT) {
  if (dlsym(scope_, symbol)) return;
  scope_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!scope_) problem_ = dlerror();
}

void* SharedLibrary::address(const char* name) {
  if (!problem_.empty()) return nullptr;
  void* const found = dlsym(scope_, name);
  if (!found) problem_ = std::string(file_) + " has no " + name;
  return found;
}

}  // namespace aorta::cuda
