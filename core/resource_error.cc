#include <aorta/core/resource_error.h>

#include <cerrno>
#include <cstring>

namespace aorta {

bool lacks_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN ||
         error == ENOBUFS;
}

std::string errno_text(int error) {
  const char* symbol = strerrorname_np(error);
  const char* description = strerrordesc_np(error);
  return std::string(symbol ? symbol : "errno " + std::to_string(error)) + " (" +
         (description ? description : "unknown error") + ")";
}

}  // namespace aorta
