#pragma once

// Libraries of NVIDIA's that are found where the program runs: the plugin loads without them.

#include <aorta/core/device_backend.h>

#include <string>
#include <type_traits>

namespace aorta::cuda {

/// A library by its file's name: the one that the program has loaded, which has `symbol`, else the
/// file.
class SharedLibrary {
 public:
  SharedLibrary(const char* file, const char* symbol);

  /// Sets a pointer to the function of that name; notes it as the problem where there is none.
  template <class Call>
  void find(Call& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<Call>>(address(name));
  }

  /// Why the library can't be used; empty where it can.
  const std::string& problem() const { return problem_; }

 private:
  void* address(const char* name);

  const char* file_;
  void* scope_ = nullptr;
  std::string problem_;
};

}  // namespace aorta::cuda
