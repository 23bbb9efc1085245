// What the emulated device costs to compile and to run, beside its limits.
#include <aorta/core/check.h>
#include <aorta/tools/bench/tables.h>
#include <unistd.h>

#include <cstdlib>

namespace aorta::bench {

int run_build(const std::vector<std::string>& arguments) {
  check(arguments.empty(), "bench", "build takes no arguments", arguments.size());
  const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  check(root && chdir(root) == 0, "bench", "build is run by `bazel run`, in a tree of sources",
        root ? root : "no BUILD_WORKSPACE_DIRECTORY");
  execl("tools/build_cost.sh", "tools/build_cost.sh", nullptr);
  fail("bench", "tools/build_cost.sh can be run", root);
}

}  // namespace aorta::bench
