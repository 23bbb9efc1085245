#include <aorta/cuda/shared_library.h>

#include <dlfcn.h>

namespace aorta::cuda {
namespace {

void* address_in(void* scope, const char* name) { return scope ? dlsym(scope, name) : nullptr; }
void* address_in_program(void*, const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace

SharedLibrary::SharedLibrary(const char* file, const char* symbol)
    : SharedLibrary(file, address_in_program, nullptr) {
  if (address_in_program(nullptr, symbol)) return;
  address_ = address_in;
  context_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!context_) problem_ = dlerror();
}

void* SharedLibrary::address_of(const char* name) {
  void* const found = address_(context_, name);
  if (!found && problem_.empty()) problem_ = std::string(file_) + " has no " + name;
  return found;
}

}  // namespace aorta::cuda
