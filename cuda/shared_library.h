#pragma once

// Libraries of NVIDIA's that are found where the program runs: the plugin loads without them.

#include <aorta/core/device_backend.h>

#include <string>
#include <type_traits>

namespace aorta::cuda {

/// A library by its file's name.
class SharedLibrary {
 public:
  /// The one that the program has loaded, which has `symbol`, else the file.
  SharedLibrary(const char* file, const char* symbol);
  /// One that takes each function from `address(context, name)`, null for what isn't there.
  using Address = void* (*)(void* context, const char* name);
  SharedLibrary(const char* file, Address address, void* context)
      : file_(file), address_(address), context_(context) {}

  /// Sets a pointer to the function of that name; the first that isn't there is the problem.
  template <class Call>
  void find(Call& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<Call>>(address_of(name));
  }

  /// Why the library can't be used; empty where it can.
  const std::string& problem() const { return problem_; }

 private:
  void* address_of(const char* name);

  const char* file_;
  Address address_;
  void* context_;
  std::string problem_;
};

}  // namespace aorta::cuda
