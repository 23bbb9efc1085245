#pragma once

#include <aorta/core/check.h>

namespace aorta {

/// What the machine or its limits refuse, not the input: memory, descriptors, processes, threads.
/// The same call may go well where there is more of them.
class ResourceError : public Error {
 public:
  using Error::Error;
};

/// Whether a system call that ended with this errno lacked one of them.
bool lacks_resources(int error);

/// fail() with a ResourceError.
template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void fail_for_resources(std::string_view op,
                                                               std::string_view rule,
                                                               const Parts&... got) {
  try {
    fail(op, rule, got...);
  } catch (const Error& error) {
    throw ResourceError(error.what());
  }
}

/// check() with a ResourceError.
template <class... Parts>
inline void check_resources(bool ok, std::string_view op, std::string_view rule,
                            const Parts&... got) {
  if (!ok) [[unlikely]]
    fail_for_resources(op, rule, got...);
}

/// fail() after a system call that ended with `error`: a ResourceError where it lacked some.
template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void fail_after_call(int error, std::string_view op,
                                                            std::string_view rule,
                                                            const Parts&... got) {
  if (lacks_resources(error)) fail_for_resources(op, rule, got...);
  fail(op, rule, got...);
}

/// "EMFILE (Too many open files)". strerror would not be safe between threads.
std::string errno_text(int error);

}  // namespace aorta
