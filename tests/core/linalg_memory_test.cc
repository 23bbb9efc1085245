// What Eigen takes for itself may not be had.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/resource_error.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace aorta {
namespace {

using testing::Test;

TEST(Linalg, SaysThatThereIsNoMemoryOnTheWay) {
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes
  const int status = forked([] {
    const Tensor a = ones({1, 4096});
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    // Enough for Vh, of 64 MiB, and not for that matrix in f64.
    const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (100 << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    EXPECT_THROW(linalg::svd(a), ResourceError);
    EXPECT_EQ(error_of([&] { linalg::svd(a); }),
              "svd: there must be memory for the matrices on the way, got a batch of 1, f32");
    return Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
#else
  GTEST_SKIP() << "the address sanitizer has no limit of memory";
#endif
}

}  // namespace
}  // namespace aorta
