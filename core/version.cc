#include <aorta/core/version.h>

namespace aorta {

// AORTA_VERSION comes from bazel/version.bzl, where packaging reads it too.
const char* version() { return AORTA_VERSION; }

}  // namespace aorta
