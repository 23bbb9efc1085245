// What Eigen takes for itself may not be had, and products of sizes may not fit.
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
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

TEST(Linalg, EmptyMatricesOfHugeSizes) {
  const int64_t huge = int64_t{1} << 43;
  EXPECT_EQ(error_of([&] {
              linalg::tensorinv(empty({huge, 2, 0}), 1);
            }),
            "tensorinv: A must be as large before ind as from it on, got [8796093022208,2,0]");
  EXPECT_EQ(linalg::tensorinv(empty({huge, 0, 0}), 2).shape(), (Shape{0, huge, 0}));
  EXPECT_EQ(error_of([&] {
              linalg::tensorsolve(empty({huge, 0, 1}), ones({1, 1}).expand({huge, 1}));
            }),
            "tensorsolve: A must be as large from B's dimensions on as in them, got "
            "[8796093022208,0,1] and [8796093022208,1]");
}

// Squares of the elements have no place in the dtype.
TEST(Linalg, QrOfSmallAndLargeMatrices) {
  manual_seed(3);
  const auto expect = [](DType dtype, double scale, double tolerance) {
    for (const Shape& shape : {Shape{2, 1}, {7, 3}, {5, 9}, {40, 40}}) {
      const Tensor a = randn(shape, {.dtype = dtype}), scaled = a * scale;
      const auto [q, r] = linalg::qr(scaled);
      EXPECT_TRUE(allclose(matmul(q, r / scale), scaled / scale, tolerance, tolerance)) << scale;
      const Tensor unit = matmul(q.transpose(0, 1), q);
      EXPECT_TRUE(allclose(unit, eye(unit.size(0), {.dtype = dtype}), 0, tolerance)) << scale;
    }
  };
  for (const double scale : {1e-36, 1e-20, 1.0, 1e20, 1e36}) expect(f32, scale, 1e-5);
  for (const double scale : {1e-300, 1e-160, 1e160, 1e300}) expect(f64, scale, 1e-13);
}

}  // namespace
}  // namespace aorta
